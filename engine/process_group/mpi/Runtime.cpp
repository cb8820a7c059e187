#include "engine/process_group/mpi/Runtime.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>

#include "engine/base/Thread.h"
#include "engine/process_group/mpi/Mpi.h"

namespace lockstep::process_group::mpi {
namespace {

using base::Error;
using base::ExitCode;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// How long the end may take: what is in flight gets kDrainAtEnd, and MPI_Finalize waits for all
// other processes.
constexpr seconds kFinalize{15};
constexpr seconds kDrainAtEnd{5};
// While something is in flight: looks without a pause for kSpin after the last event, yielding the
// core to a rank that has none; then sleeps. A large reduction moves at each look, without an event
// that shows, so that sleeps become longer only where a rank must be late.
constexpr microseconds kSpin{100};
constexpr microseconds kShortNap{20};
constexpr microseconds kLongNap{500};
constexpr milliseconds kShortNaps{2000};
// While nothing is: at first what has been sent may still be on its way.
constexpr milliseconds kIdleNap{1};
constexpr milliseconds kDeepNap{50};
constexpr seconds kIdleNaps{1};

// Only where the process ends well: after exit(1) mpirun is meant to see a failure, and the other
// ranks may never come to MPI_Finalize.
void finishAtExit(int status, void*) {
  if (status == 0) {
    Runtime::finish();
  }
}

}  // namespace

std::string errorText(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
    return fmt::format("MPI error {}", code);
  }
  std::string line(text.data(), static_cast<std::size_t>(length));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

MpiError::MpiError(const char* call, int code)
    : std::runtime_error(fmt::format("{}: {}", call, errorText(code))) {}

const char* Runtime::launcherVariable() {
  // Open MPI's, and those of PMIx and PMI, which srun and others set.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) {
    if (std::getenv(name) != nullptr) {
      return name;
    }
  }
  return nullptr;
}

// Never destroyed: its thread may be in the middle of anything when the process ends.
Runtime& Runtime::instance() {
  static Runtime& all = *new Runtime();
  return all;
}

base::Result<Runtime*> Runtime::start(milliseconds patience) {
  Runtime& runtime = instance();
  std::unique_lock lock(runtime.mutex_);
  if (!runtime.started_) {
    runtime.started_ = true;
    // Detached: a thread that is inside MPI cannot be stopped, and the process must be able to end.
    std::thread([&runtime] { runtime.loop(); }).detach();
  }
  runtime.changed_.wait_for(lock, patience, [&] { return runtime.state_ != State::kStarting; });
  switch (runtime.state_) {
    case State::kRunning:
      return &runtime;
    case State::kStarting:
      return Error{ExitCode::kCommFailed,
                   fmt::format("MPI_Init_thread did not return within {} ms; it waits until every "
                               "process that the launcher started has come to it",
                               patience.count()),
                   ""};
    default:
      return Error{ExitCode::kEnvironment, runtime.failure_, ""};
  }
}

void Runtime::finish() {
  Runtime& runtime = instance();
  std::unique_lock lock(runtime.mutex_);
  // Who has initialised MPI ends it; and not while requests are in flight that cannot be taken
  // back.
  if (runtime.state_ != State::kRunning || runtime.spoiled_.load() || !runtime.ours_) {
    return;
  }
  runtime.tasks_.emplace_back([&runtime] { runtime.endMpi(); });
  lock.unlock();
  runtime.wake();
  lock.lock();
  runtime.changed_.wait_for(lock, kFinalize, [&] { return runtime.state_ != State::kRunning; });
}

// A group that still has something in flight must not lose MPI under it.
void Runtime::endMpi() {
  const auto until = Clock::now() + kDrainAtEnd;
  bool open = pollClients().open;
  while (open && !spoiled_.load() && Clock::now() < until) {
    std::this_thread::sleep_for(kShortNap);
    open = pollClients().open;
  }
  if (open || spoiled_.load()) {
    std::lock_guard lock(mutex_);
    state_ = State::kFailed;
    failure_ = "MPI cannot be ended while operations are in flight";
    changed_.notify_all();
    return;
  }
  MPI_Finalize();
  loseAll("MPI has been ended in this process");
}

base::Status Runtime::run(std::function<void()> task, const std::string& what,
                          milliseconds patience) {
  struct Shared {
    bool done = false;
    std::string error;
  };
  auto shared = std::make_shared<Shared>();  // the task may outlive the wait
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kRunning) {
      return Error{ExitCode::kCommFailed, failure_, ""};
    }
    // The task reports under the lock, which orders its results before what the waiter does with
    // them.
    tasks_.emplace_back([this, shared, task = std::move(task)] {
      std::string error;
      try {
        task();
      } catch (const std::exception& failure) {
        error = failure.what();
      }
      std::lock_guard lock(mutex_);
      shared->done = true;
      shared->error = error;
      changed_.notify_all();
    });
  }
  wake();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return shared->done || state_ != State::kRunning; });
  if (shared->done) {
    return shared->error.empty() ? base::Status() : Error{ExitCode::kCommFailed, shared->error, ""};
  }
  if (state_ != State::kRunning) {
    return Error{ExitCode::kCommFailed, failure_, ""};
  }
  // MPI is stuck inside a call on its only thread: nothing of any group will move any more.
  lock.unlock();
  const std::string late = fmt::format("{} did not end within {} ms", what, patience.count());
  loseAll(late);
  return Error{ExitCode::kCommFailed, late, ""};
}

void Runtime::loseAll(const std::string& reason) {
  std::vector<std::shared_ptr<Client>> clients;
  {
    std::lock_guard lock(mutex_);
    state_ = State::kEnded;
    failure_ = reason;
    clients.swap(clients_);
    changed_.notify_all();
  }
  // Without the lock: each takes its own.
  for (const auto& client : clients) {
    client->lose(reason);
  }
}

void Runtime::attach(std::shared_ptr<Client> client) {
  std::unique_lock lock(mutex_);
  if (state_ == State::kRunning) {
    clients_.push_back(std::move(client));
    return;
  }
  const std::string reason = failure_;
  lock.unlock();
  client->lose(reason);
}

void Runtime::detach(const Client* client) {
  {
    std::lock_guard lock(mutex_);
    // By the MPI thread itself, between two polls: after this the client is polled no more.
    tasks_.emplace_back([this, client] {
      std::shared_ptr<Client> last;
      {
        std::lock_guard lock(mutex_);
        const auto found = std::find_if(clients_.begin(), clients_.end(),
                                        [&](const auto& other) { return other.get() == client; });
        if (found == clients_.end()) {
          return;
        }
        last = std::move(*found);
        clients_.erase(found);
      }
      last->retire();
    });
  }
  wake();
}

void Runtime::wake() {
  // `news_` first and `sleeping_` after it, and pause() the other way round: one of the two sees
  // the other, so no wake is lost, and the lock is taken only where somebody sleeps.
  news_.store(true);
  if (sleeping_.load()) {
    std::lock_guard lock(mutex_);
    wake_.notify_one();
  }
}

bool Runtime::initialise() {
  int running = 0;
  std::string failure;
  try {
    check(MPI_Initialized(&running), "MPI_Initialized");
    int provided = MPI_THREAD_SINGLE;
    if (running == 0) {
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    } else {
      check(MPI_Query_thread(&provided), "MPI_Query_thread");
    }
    // With an MPI of this thread's own, FUNNELED is enough; of another one's, all threads must be
    // allowed. Even an MPI that promises no threads serves one that is all alone with it.
    if (running != 0 && provided != MPI_THREAD_MULTIPLE) {
      throw std::runtime_error(
          "this program has initialised MPI without MPI_THREAD_MULTIPLE; the "
          "mpi backend needs it there, or an MPI of its own");
    }
    // By default MPI ends the process at the first error.
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &worldRank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &worldSize_), "MPI_Comm_size");
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (failure.empty() && running == 0) {
    // Only an MPI of our own is ended.
    on_exit(finishAtExit, nullptr);
  }
  std::lock_guard lock(mutex_);
  ours_ = running == 0;
  state_ = failure.empty() ? State::kRunning : State::kFailed;
  failure_ = failure;
  changed_.notify_all();
  return failure.empty();
}

void Runtime::loop() {
  base::nameThisThread("mpi");
  prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; naps are 50 us longer otherwise
  if (!initialise()) {
    return;
  }
  for (;;) {
    // Before the tasks are looked at: a wake from now on is for the next turn.
    news_.store(false);
    runTasks();
    {
      std::lock_guard lock(mutex_);
      if (state_ != State::kRunning) {
        return;
      }
    }
    const Client::Activity activity = pollClients();
    if (activity.moved) {
      lastMove_ = Clock::now();
    }
    pause(activity);
  }
}

void Runtime::runTasks() {
  for (;;) {
    std::function<void()> task;
    {
      std::lock_guard lock(mutex_);
      if (tasks_.empty() || state_ != State::kRunning) {
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    lastMove_ = Clock::now();
  }
}

Client::Activity Runtime::pollClients() {
  std::vector<std::shared_ptr<Client>> clients;
  {
    std::lock_guard lock(mutex_);
    // A copy, since a client may be attached or end while others are polled.
    clients = clients_;
  }
  Client::Activity all;
  for (const auto& client : clients) {
    const Client::Activity one = client->poll();
    all.open = all.open || one.open;
    all.moved = all.moved || one.moved;
  }
  return all;
}

// Note [How long the MPI thread naps]
//
//    something moved, or is new                no pause
//    open, less than 100 us since it moved     yield
//    open, up to 2 s                           nap of 20 us
//    open, longer                              nap of 500 us: some rank must be late
//    nothing open, up to 1 s                   nap of 1 ms, with a call of MPI before
//    nothing open, longer                      nap of 50 ms, likewise
//
// Many MPIs move data only inside their calls, so a pause delays everything that is in flight; and
// ranks that share cores need the pauses, or a rank that looks without end keeps the one it waits
// for from its core.
void Runtime::pause(const Client::Activity& activity) {
  if (activity.moved || news_.load()) {
    return;
  }
  const auto still = Clock::now() - lastMove_;
  if (activity.open && still < kSpin) {
    sched_yield();
    return;
  }
  std::chrono::nanoseconds nap;
  if (activity.open) {
    nap = still < kShortNaps ? kShortNap : kLongNap;
  } else {
    progress();
    nap = still < kIdleNaps ? kIdleNap : kDeepNap;
  }
  sleeping_.store(true);
  {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, nap, [this] { return news_.load(); });
  }
  sleeping_.store(false);
}

// Any call moves what is on its way.
void Runtime::progress() {
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

}  // namespace lockstep::process_group::mpi
