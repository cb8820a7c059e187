#include "engine/process_group/nccl/Communicators.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <numeric>
#include <thread>

#include "engine/base/NumberText.h"

namespace lockstep::process_group::nccl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr microseconds kLaunchPoll{50};
constexpr microseconds kSpin{300};
// A wait in the store ends this late when somebody gives up.
constexpr milliseconds kSlice{200};
// No call of a communicator takes long; one that does is stuck.
constexpr milliseconds kAsking{1000};
// How long a failing rank waits for its devices to be free before it says why.
constexpr milliseconds kAborting{3000};
// For a busy device to relate its clock: the spans of before are lost.
constexpr milliseconds kClockPatience{100};

std::string cameKey(const std::string& key, int rank) {
  return fmt::format("{}/came/{}", key, rank);
}

}  // namespace

// Note [Which communicator]
//
//    all/0, all/1 ...    all ranks; the n-th device that this process uses in this group
//    2-5                 messages from rank 2 to rank 5, on whichever device the first was
//
// Each is made by the first operation that needs it, through the store:
//
//    came/RANK   written by every member before it joins, so that others can say who has not come
//    id          made by the first member, awaited by the others
//
// Then library.join() begins, and settle() waits until the ranks have met, with the operation's own
// time limit. A rank that looks for a communicator makes it outside of the lock, since that may
// take as long as the slowest rank; two threads never make the same one (Communicators.h).
Channel& Communicators::all(Device& device, Deadline deadline) {
  const c10::DeviceIndex index = device.device().index();
  const auto known = namesOfDevices_.find(index);
  const std::string name = known != namesOfDevices_.end()
                               ? known->second
                               : fmt::format("all/{}", namesOfDevices_.size());
  std::vector<int> members(static_cast<std::size_t>(options_.size));
  std::iota(members.begin(), members.end(), 0);
  Channel& channel = make(device, name, members, deadline);
  // Only now: where it could not be made, the next operation tries the same name again.
  namesOfDevices_[index] = name;
  return channel;
}

Channel& Communicators::pair(Device& device, int from, int to, Deadline deadline) {
  return make(device, fmt::format("{}-{}", from, to), {from, to}, deadline);
}

Channel& Communicators::make(Device& device, const std::string& name,
                             const std::vector<int>& members, Deadline deadline) {
  {
    std::lock_guard lock(mutex_);
    if (const auto found = channels_.find(name); found != channels_.end()) {
      // A pair has one communicator, and that one device at either end.
      if (found->second->device.device() != device.device()) {
        throw Unreachable{Failure{
            fmt::format("its tensor is on {}, those before were on {}; ranks of a pair keep to one "
                        "device each",
                        device.device().str(), found->second->device.device().str())}};
      }
      return *found->second;
    }
  }
  const std::string key = fmt::format("nccl/{}/{}", options_.group, name);
  auto made = std::make_shared<Channel>(device, clockOf(device), name);
  Channel& channel = *made;
  try {
    // Before the id is fetched: whoever waits there is seen to have come.
    store_->set(cameKey(key, options_.rank), "1");
    const std::string id = fetchId(key, members, deadline);
    const auto place = std::find(members.begin(), members.end(), options_.rank) - members.begin();
    made->communicator = library_->join(id, static_cast<int>(members.size()),
                                        static_cast<int>(place), device.device());
  } catch (const store::StoreError& error) {
    throw Unreachable{Failure{error.what(), -1, CommErrorKind::kStore}};
  }
  {
    std::lock_guard lock(mutex_);
    channels_[name] = std::move(made);
  }
  if (aborted_) {  // abort() may have come before it could see this one
    // On a thread of its own, as Communicator::abort wants it.
    std::thread([&channel] { channel.communicator->abort(); }).join();
  }
  if (!settle(channel, deadline)) {
    throw Unreachable{absent(channel, members)};
  }
  return channel;
}

std::string Communicators::fetchId(const std::string& key, const std::vector<int>& members,
                                   Deadline deadline) const {
  const std::string idKey = key + "/id";
  if (options_.rank == members.front()) {
    const std::string id = library_->makeId();
    store_->set(idKey, id);
    return id;
  }
  while (!store_->check({idKey})) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (aborted_) {
      throw Unreachable{Failure{"given up", -1, CommErrorKind::kAborted}};
    }
    if (left.count() <= 0) {
      throw Unreachable{Failure{
          fmt::format("rank {} has not come to its first operation here, and so there is no "
                      "communicator",
                      members.front()),
          members.front(), CommErrorKind::kTimeout}};
    }
    try {
      // In slices, to notice an abort.
      store_->wait({idKey}, std::min(kSlice, left));
    } catch (const store::StoreError&) {
      // Not there yet, or the store is gone, which check() tells.
    }
  }
  return store_->get(idKey);
}

bool Communicators::settle(Channel& channel, Deadline deadline) const {
  const auto ready = [&channel] {
    // The lock is taken for each question alone, so that abort() gets between two of them.
    std::lock_guard asking(channel.asking);
    return channel.communicator->ready();
  };
  const auto begun = Clock::now();
  while (!ready()) {
    if (aborted_) {
      throw Unreachable{Failure{"given up", -1, CommErrorKind::kAborted}};
    }
    if (Clock::now() >= deadline) {
      return false;
    }
    if (Clock::now() - begun < kSpin) {
      std::this_thread::yield();  // a launch takes some tens of microseconds
    } else {
      std::this_thread::sleep_for(kLaunchPoll);
    }
  }
  return true;
}

Failure Communicators::absent(const Channel& channel, const std::vector<int>& members) const {
  const std::string key = fmt::format("nccl/{}/{}", options_.group, channel.name);
  std::vector<int> missing;
  try {
    for (const int member : members) {
      if (!store_->check({cameKey(key, member)})) {
        missing.push_back(member);
      }
    }
  } catch (const store::StoreError& error) {
    return Failure{error.what(), -1, CommErrorKind::kStore};
  }
  if (missing.empty()) {
    return Failure{"all ranks have come, and their devices cannot reach each other in time", -1,
                   CommErrorKind::kTimeout};
  }
  return Failure{
      fmt::format("{} {} not come to the first operation on {}", base::ranksText(missing),
                  missing.size() == 1 ? "has" : "have", channel.device.device().str()),
      missing.front(), CommErrorKind::kTimeout};
}

DeviceClock& Communicators::clockOf(Device& device) {
  std::unique_lock lock(mutex_);
  auto& clock = clocks_[device.device().index()];
  if (clock == nullptr) {
    clock = std::make_unique<DeviceClock>(device);
    DeviceClock& made = *clock;
    // Without the lock: the device may be busy, and other channels need not wait for its clock.
    lock.unlock();
    try {
      made.relate(kClockPatience);
    } catch (const DeviceError&) {  // the operation that follows tells of it
    }
    return made;
  }
  return *clock;
}

std::vector<std::shared_ptr<Channel>> Communicators::channels() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Channel>> result;
  for (const auto& [name, channel] : channels_) {
    result.push_back(channel);
  }
  return result;
}

Communicators::~Communicators() {
  // Each waits a while for its peers to end theirs, so all at the same time.
  std::vector<std::thread> ends;
  for (const auto& channel : channels()) {
    ends.emplace_back([&channel = *channel] { channel.communicator.reset(); });
  }
  for (std::thread& end : ends) {
    end.join();
  }
}

void Communicators::abort() {
  aborted_ = true;
  struct Ended {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t count = 0;
  };
  auto all = channels();
  const std::size_t count = all.size();
  const auto ended = std::make_shared<Ended>();
  for (auto& channel : all) {
    // Detached, with all they need: one that hangs in a driver must not hold the process.
    std::thread([channel = std::move(channel), ended]() mutable {
      {
        // A call that hangs is ended by it. No timed_mutex: ThreadSanitizer does not know its call.
        std::unique_lock asking(channel->asking, std::try_to_lock);
        for (const auto end = Clock::now() + kAsking; !asking && Clock::now() < end;) {
          std::this_thread::sleep_for(kLaunchPoll);
          static_cast<void>(asking.try_lock());
        }
        channel->communicator->abort();
      }
      channel.reset();  // its device may go as soon as all have ended
      std::lock_guard lock(ended->mutex);
      ++ended->count;
      ended->changed.notify_all();
    }).detach();
  }
  std::unique_lock lock(ended->mutex);
  ended->changed.wait_for(lock, kAborting, [&] { return ended->count == count; });
}

void Communicators::check() const {
  for (const auto& channel : channels()) {
    // Not where somebody is asking: that one hears of the error himself.
    if (std::unique_lock asking(channel->asking, std::try_to_lock); asking) {
      (void)channel->communicator->ready();
    }
  }
}

}  // namespace lockstep::process_group::nccl
