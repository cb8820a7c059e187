#include "tests/engine/process_group/nccl/FakePlatform.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/Clock.h"

namespace lockstep::process_group::nccl {

// What a State below is made of is in no anonymous namespace: a State has a name that is seen
// outside.

/// One thing that one rank asks for.
struct Ask {
  enum class Kind { kAllreduce, kBroadcast, kReduce, kAllgather, kReduceScatter, kSend, kRecv };

  Kind kind{};
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  c10::ScalarType type = c10::ScalarType::Byte;
  ReduceOp op = ReduceOp::kSum;
  int peer = -1;                    // root, or of send and recv
  std::vector<std::byte> snapshot;  // of `from` when the stream came to it

  [[nodiscard]] std::size_t bytes() const { return count * c10::elementSize(type); }
  [[nodiscard]] bool direct() const { return kind == Kind::kSend || kind == Kind::kRecv; }
};
using Batch = std::vector<Ask>;

namespace {

using Kind = Ask::Kind;

at::Tensor tensorOf(const Ask& ask, std::size_t offset, std::size_t count) {
  auto* data = const_cast<std::byte*>(ask.snapshot.data()) + offset * c10::elementSize(ask.type);
  return at::from_blob(data, {static_cast<std::int64_t>(count)}, ask.type);
}

at::Tensor combine(const std::vector<const Ask*>& asks, std::size_t offset, std::size_t count) {
  at::Tensor result = tensorOf(*asks.front(), offset, count).clone();
  for (std::size_t i = 1; i < asks.size(); ++i) {
    const at::Tensor other = tensorOf(*asks[i], offset, count);
    switch (asks.front()->op) {
      case ReduceOp::kProduct:
        result.mul_(other);
        break;
      case ReduceOp::kMin:
        result = at::minimum(result, other);
        break;
      case ReduceOp::kMax:
        result = at::maximum(result, other);
        break;
      default:
        result.add_(other);
        break;
    }
  }
  if (asks.front()->op == ReduceOp::kAverage) {
    result.div_(static_cast<double>(asks.size()));
  }
  return result;
}

void write(const Ask& ask, const at::Tensor& value) {
  if (value.nbytes() > 0) {  // a tensor without elements has no memory
    std::memcpy(ask.to, value.data_ptr(), value.nbytes());
  }
}

}  // namespace

struct FakeFabric::State {
  struct Round {
    std::map<int, Batch> batches;  // by rank
  };
  struct Meeting {
    std::map<int, bool> joined;
    std::map<int, Round> rounds;  // by number
    bool givenUp = false;         // by a rank of it
  };

  std::mutex mutex;
  std::condition_variable changed;
  int ids = 0;
  std::map<std::string, Meeting> meetings;  // by id
  std::function<bool(const Moment&)> holds;
  int held = 0;
  std::map<std::pair<int, int>, std::string> failures;  // by size and rank
  std::set<std::pair<int, int>> unsettled;
};

FakeFabric::FakeFabric() : state(std::make_shared<State>()) {}
FakeFabric::~FakeFabric() {
  release();
}

void FakeFabric::hold(std::function<bool(const Moment&)> which) {
  std::lock_guard lock(state->mutex);
  state->holds = std::move(which);
}

void FakeFabric::release() {
  hold(nullptr);
  state->changed.notify_all();
}

bool FakeFabric::awaitHeld(int count) {
  std::unique_lock lock(state->mutex);
  return state->changed.wait_for(lock, std::chrono::seconds(10),
                                 [&] { return state->held >= count; });
}

void FakeFabric::neverSettle(int size, int rank) {
  std::lock_guard lock(state->mutex);
  state->unsettled.insert({size, rank});
}

void FakeFabric::failCommunicators(int size, int rank, const std::string& text) {
  std::lock_guard lock(state->mutex);
  state->failures[{size, rank}] = text;
}

/// A stream that is a thread.
class FakeStream {
 public:
  FakeStream() : thread_([this] { work(); }) {}
  ~FakeStream() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void queue(std::function<void()> task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_all();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) {
        return;
      }
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

namespace {

const c10::Device kDevice(c10::DeviceType::CPU, 0);
c10::Stream streamOf(c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, kDevice, id);
}

thread_local c10::StreamId current = 0;

}  // namespace

struct FakePlatform::State {
  FakeDeviceOptions options;
  std::mutex mutex;
  std::string failure;
  std::vector<std::unique_ptr<FakeStream>> streams;  // by id, from 1 on
  std::shared_ptr<Devices> devices;
  std::shared_ptr<Library> library;
  Device* device = nullptr;

  void queue(const c10::Stream& stream, std::function<void()> task) {
    if (stream.id() == 0) {
      task();
      return;
    }
    FakeStream* on = nullptr;
    {
      std::lock_guard lock(mutex);
      on = streams[static_cast<std::size_t>(stream.id() - 1)].get();
    }
    on->queue(std::move(task));
  }
};

namespace {

using PlatformState = FakePlatform::State;

class FakeEvent final : public Event {
 public:
  explicit FakeEvent(PlatformState& platform) : platform_(platform) {}

  void record(const c10::Stream& stream) override {
    auto mark = std::make_shared<Mark>();
    {
      std::lock_guard lock(mutex_);
      mark_ = mark;
    }
    platform_.queue(stream, [mark, offset = platform_.options.clockOffsetNs] {
      std::lock_guard lock(mark->mutex);
      mark->deviceNs = base::monotonicNs() + offset;
      mark->passed = true;
      mark->changed.notify_all();
    });
  }
  void block(const c10::Stream& stream) const override {
    platform_.queue(stream, [mark = mark()] {
      std::unique_lock lock(mark->mutex);
      mark->changed.wait(lock, [&] { return mark->passed; });
    });
  }
  [[nodiscard]] bool passed() const override {
    {
      std::lock_guard lock(platform_.mutex);
      if (!platform_.failure.empty()) {
        throw DeviceError(platform_.failure);
      }
    }
    const auto now = mark();
    std::lock_guard lock(now->mutex);
    return now->passed;
  }
  [[nodiscard]] double nanosecondsSince(const Event& earlier) const override {
    return static_cast<double>(deviceNs() - static_cast<const FakeEvent&>(earlier).deviceNs());
  }

 private:
  struct Mark {
    std::mutex mutex;
    std::condition_variable changed;
    bool passed = false;
    std::int64_t deviceNs = 0;
  };
  [[nodiscard]] std::shared_ptr<Mark> mark() const {
    std::lock_guard lock(mutex_);
    return mark_;
  }
  [[nodiscard]] std::int64_t deviceNs() const {
    const auto now = mark();
    std::lock_guard lock(now->mutex);
    return now->deviceNs;
  }

  PlatformState& platform_;
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> mark_ = std::make_shared<Mark>();
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(PlatformState& platform) : platform_(platform) {}
  [[nodiscard]] c10::Device device() const override { return kDevice; }
  [[nodiscard]] c10::Stream currentStream() const override { return streamOf(current); }
  [[nodiscard]] c10::Stream makeStream() override {
    std::lock_guard lock(platform_.mutex);
    platform_.streams.push_back(std::make_unique<FakeStream>());
    return streamOf(static_cast<c10::StreamId>(platform_.streams.size()));
  }
  void releaseStream(const c10::Stream&) override {}  // they end with the platform
  [[nodiscard]] std::unique_ptr<Event> makeEvent(bool) override {
    return std::make_unique<FakeEvent>(platform_);
  }
  void onStream(const c10::Stream& stream, const std::function<void()>& queue) override {
    platform_.queue(stream, queue);
  }

 private:
  PlatformState& platform_;
};

class FakeDevices final : public Devices {
 public:
  explicit FakeDevices(PlatformState& platform) : platform_(platform), device_(platform) {
    platform.device = &device_;
  }
  [[nodiscard]] c10::DeviceType type() const override { return c10::DeviceType::CPU; }
  [[nodiscard]] c10::DeviceIndex current() const override {
    if (!platform_.options.absent.empty()) {
      throw DeviceError(platform_.options.absent);
    }
    return 0;
  }
  [[nodiscard]] Device& at(c10::DeviceIndex) override { return device_; }

 private:
  PlatformState& platform_;
  FakeDevice device_;
};

/// What the calling thread has asked for since groupStart(), a batch a communicator.
class FakeCommunicator;
thread_local std::vector<std::pair<FakeCommunicator*, Batch>> asked;

class FakeCommunicator final : public Communicator {
 public:
  FakeCommunicator(PlatformState& platform, std::shared_ptr<FakeFabric::State> fabric,
                   std::string id, int size, int rank)
      : platform_(platform),
        core_(std::make_shared<Core>(std::move(fabric), std::move(id), size, rank)) {
    std::lock_guard lock(core_->fabric->mutex);
    core_->fabric->meetings[core_->id].joined[rank] = true;
  }

  void allreduce(void* data, std::size_t count, c10::ScalarType type, ReduceOp op,
                 const c10::Stream& stream) override {
    ask({Kind::kAllreduce, data, data, count, type, op, -1, {}}, stream);
  }
  void broadcast(void* data, std::size_t count, c10::ScalarType type, int root,
                 const c10::Stream& stream) override {
    ask({Kind::kBroadcast, data, data, count, type, ReduceOp::kSum, root, {}}, stream);
  }
  void reduce(const void* from, void* to, std::size_t count, c10::ScalarType type, ReduceOp op,
              int root, const c10::Stream& stream) override {
    ask({Kind::kReduce, from, to, count, type, op, root, {}}, stream);
  }
  void allgather(const void* from, void* to, std::size_t count, c10::ScalarType type,
                 const c10::Stream& stream) override {
    ask({Kind::kAllgather, from, to, count, type, ReduceOp::kSum, -1, {}}, stream);
  }
  void reduceScatter(const void* from, void* to, std::size_t count, c10::ScalarType type,
                     ReduceOp op, const c10::Stream& stream) override {
    ask({Kind::kReduceScatter, from, to, count, type, op, -1, {}}, stream);
  }
  void send(const void* from, std::size_t count, c10::ScalarType type, int peer,
            const c10::Stream& stream) override {
    ask({Kind::kSend, from, nullptr, count, type, ReduceOp::kSum, peer, {}}, stream);
  }
  void recv(void* to, std::size_t count, c10::ScalarType type, int peer,
            const c10::Stream& stream) override {
    ask({Kind::kRecv, nullptr, to, count, type, ReduceOp::kSum, peer, {}}, stream);
  }

  [[nodiscard]] bool ready() override {
    std::lock_guard lock(core_->fabric->mutex);
    if (core_->aborted) {
      throw LibraryError("the communicator was given up", CommErrorKind::kAborted);
    }
    const auto& meeting = core_->fabric->meetings[core_->id];
    if (meeting.givenUp) {
      throw LibraryError("remote process exited or there was a network error",
                         CommErrorKind::kRemote);
    }
    const auto failure = core_->fabric->failures.find({core_->size, core_->rank});
    if (failure != core_->fabric->failures.end()) {
      throw LibraryError(failure->second, CommErrorKind::kRemote);
    }
    return static_cast<int>(meeting.joined.size()) == core_->size &&
           !core_->fabric->unsettled.contains({core_->size, core_->rank});
  }

  void abort() override {
    {
      std::lock_guard lock(core_->fabric->mutex);
      core_->aborted = true;
      core_->fabric->meetings[core_->id].givenUp = true;
    }
    core_->fabric->changed.notify_all();
  }

  void launch(Batch batch) {
    platform_.queue(stream_, [core = core_, batch = std::move(batch),
                              number = batches_++]() mutable { core->run(number, batch); });
  }

 private:
  /// What outlives the communicator on its stream.
  struct Core {
    Core(std::shared_ptr<FakeFabric::State> ownFabric, std::string ownId, int ownSize, int ownRank)
        : fabric(std::move(ownFabric)), id(std::move(ownId)), size(ownSize), rank(ownRank) {}

    void run(int number, Batch& batch) {
      for (Ask& ask : batch) {
        if (ask.from != nullptr) {
          const std::size_t parts =
              ask.kind == Kind::kReduceScatter ? static_cast<std::size_t>(size) : 1;
          const auto* data = static_cast<const std::byte*>(ask.from);
          ask.snapshot.assign(data, data + ask.bytes() * parts);
        }
      }
      std::unique_lock lock(fabric->mutex);
      const FakeFabric::Moment moment{size, rank, number};
      if (fabric->holds && fabric->holds(moment)) {
        ++fabric->held;
        fabric->changed.notify_all();
        fabric->changed.wait(lock,
                             [&] { return aborted || !fabric->holds || !fabric->holds(moment); });
        --fabric->held;
      }
      auto& round = fabric->meetings[id].rounds[number];
      round.batches[rank] = batch;
      fabric->changed.notify_all();
      fabric->changed.wait(lock, [&] {
        return aborted || (static_cast<int>(round.batches.size()) == size && together(round));
      });
      if (!aborted) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
          finish(batch, i, round);
        }
      }
    }

    // NCCL hangs where ranks ask for different things.
    static bool together(const FakeFabric::State::Round& round) {
      const Batch& first = round.batches.begin()->second;
      return std::all_of(round.batches.begin(), round.batches.end(), [&](const auto& entry) {
        const Batch& other = entry.second;
        if (other.empty() || first.empty() || other.front().direct() || first.front().direct()) {
          return true;
        }
        return std::equal(other.begin(), other.end(), first.begin(), first.end(),
                          [](const Ask& a, const Ask& b) {
                            return a.kind == b.kind && a.count == b.count && a.type == b.type;
                          });
      });
    }

    void finish(const Batch& batch, std::size_t index, const FakeFabric::State::Round& round) {
      const Ask& ask = batch[index];
      if (ask.kind == Kind::kSend) {
        return;
      }
      if (ask.kind == Kind::kRecv) {
        for (const Ask& sent : round.batches.at(ask.peer)) {
          if (sent.kind == Kind::kSend && sent.peer == rank) {
            std::memcpy(ask.to, sent.snapshot.data(), std::min(ask.bytes(), sent.bytes()));
          }
        }
        return;
      }
      std::vector<const Ask*> all;
      for (const auto& [other, asks] : round.batches) {
        all.push_back(&asks[index]);
      }
      const auto own = static_cast<std::size_t>(rank);
      switch (ask.kind) {
        case Kind::kAllreduce:
          write(ask, combine(all, 0, ask.count));
          break;
        case Kind::kBroadcast:
          write(ask, tensorOf(*all[static_cast<std::size_t>(ask.peer)], 0, ask.count));
          break;
        case Kind::kReduce:
          if (ask.peer == rank) {
            write(ask, combine(all, 0, ask.count));
          }
          break;
        case Kind::kReduceScatter:
          write(ask, combine(all, own * ask.count, ask.count));
          break;
        case Kind::kAllgather:
          for (std::size_t other = 0; other < all.size(); ++other) {
            std::memcpy(static_cast<std::byte*>(ask.to) + other * ask.bytes(),
                        all[other]->snapshot.data(), ask.bytes());
          }
          break;
        default:
          break;
      }
    }

    const std::shared_ptr<FakeFabric::State> fabric;
    const std::string id;
    const int size;
    const int rank;
    bool aborted = false;  // under the fabric's mutex
  };

  void ask(Ask what, const c10::Stream& stream) {
    stream_ = stream;
    const auto mine = std::find_if(asked.begin(), asked.end(),
                                   [this](const auto& entry) { return entry.first == this; });
    if (mine == asked.end()) {
      asked.push_back({this, {std::move(what)}});
    } else {
      mine->second.push_back(std::move(what));
    }
  }

  PlatformState& platform_;
  const std::shared_ptr<Core> core_;
  c10::Stream stream_ = streamOf(0);
  int batches_ = 0;
};

class FakeLibrary final : public Library {
 public:
  FakeLibrary(PlatformState& platform, std::shared_ptr<FakeFabric::State> fabric)
      : platform_(platform), fabric_(std::move(fabric)) {}

  [[nodiscard]] std::string name() const override { return "a test double"; }
  [[nodiscard]] std::string makeId() override {
    std::lock_guard lock(fabric_->mutex);
    return "id " + std::to_string(fabric_->ids++);
  }
  [[nodiscard]] std::unique_ptr<Communicator> join(const std::string& id, int size, int rank,
                                                   c10::Device) override {
    auto joined = std::make_unique<FakeCommunicator>(platform_, fabric_, id, size, rank);
    fabric_->changed.notify_all();
    return joined;
  }
  void groupStart() override { asked.clear(); }
  void groupEnd() override {
    for (auto& [communicator, batch] : asked) {
      communicator->launch(std::move(batch));
    }
    asked.clear();
  }

 private:
  PlatformState& platform_;
  const std::shared_ptr<FakeFabric::State> fabric_;
};

}  // namespace

FakePlatform::FakePlatform(const FakeFabric& fabric, const FakeDeviceOptions& options)
    : state_(std::make_shared<State>()) {
  state_->options = options;
  state_->devices = std::make_shared<FakeDevices>(*state_);
  state_->library = std::make_shared<FakeLibrary>(*state_, fabric.state);
}

Platform FakePlatform::platform() const {
  return {state_->devices, state_->library};
}

Device& FakePlatform::device() const {
  return *state_->device;
}

void FakePlatform::failDevice(const std::string& text) {
  std::lock_guard lock(state_->mutex);
  state_->failure = text;
}

OnOwnStream::OnOwnStream(Device& device)
    : stream_(device.makeStream()), before_(streamOf(std::exchange(current, stream_.id()))) {}

OnOwnStream::~OnOwnStream() {
  current = before_.id();
}

}  // namespace lockstep::process_group::nccl
