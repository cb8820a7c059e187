#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::process_group::mpi {

// Note [Who calls MPI]
// One thread a process, "mpi", makes every call of MPI, from MPI_Init_thread to MPI_Finalize. So
// it does not matter which thread level an MPI provides: MPI_THREAD_MULTIPLE is asked for, and
// with FUNNELED or SERIALIZED nothing changes. Groups put their operations into queues; the thread
// starts them in the order of the calls, never blocks in one, and asks MPI how those in flight
// fare (MPI_Testsome), which is also what makes an MPI without threads of its own move data.
// While something is in flight it looks without a pause for a moment, then with short sleeps, so
// that ranks that share cores get on; while nothing is, it looks now and then, because an MPI may
// call a message sent before the network has taken it.

/// What a group gives the MPI thread to do.
class Client {
 public:
  struct Activity {
    bool open = false;   ///< something is in flight
    bool moved = false;  ///< something has started or ended
  };

  virtual ~Client() = default;
  /// Looks after what is in flight; must not block. [mpi-thread]
  virtual Activity poll() = 0;
  /// Fails whatever is in flight and comes later, since MPI is gone. [any-thread]
  virtual void lose(const std::string& reason) = 0;
  /// Is called once it will not be polled again. [mpi-thread]
  virtual void retire() = 0;
};

/// MPI in this process. All members are [any-thread] but for those that say otherwise.
class Runtime {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// Returns the variable of the environment by which mpirun, srun or another launcher says that
  /// MPI can find the other processes; null for a process that was started alone.
  [[nodiscard]] static const char* launcherVariable();

  /// Starts MPI, or takes the one that runs. It starts when every process of the launcher has come
  /// here; the error says that they did not within `patience`, or that MPI has ended already.
  static base::Result<Runtime*> start(Milliseconds patience);

  /// Ends MPI, once; later groups cannot be made. It is skipped when a group is broken, since
  /// requests that are in flight cannot be taken back, and given up after some seconds when the
  /// other ranks do not come; without MPI_Finalize mpirun ends the other ranks and fails itself.
  /// The end of the process does it too when its exit status is 0.
  static void finish();

  /// Number of this process among those the launcher started, and how many they are.
  [[nodiscard]] int worldRank() const { return worldRank_; }
  [[nodiscard]] int worldSize() const { return worldSize_; }

  /// Runs `task` on the MPI thread. When that takes longer than `patience`, MPI counts as lost:
  /// all groups fail, and the error says `what` did not end.
  base::Status run(std::function<void()> task, const std::string& what, Milliseconds patience);

  /// Polls `client` from now on, until detach().
  void attach(std::shared_ptr<Client> client);
  void detach(const Client* client);

  /// Tells the thread that there is something new to start.
  void wake();

  /// A group is broken: what it had in flight stays so until the process has ended.
  void spoil() { spoiled_.store(true); }

 private:
  enum class State : std::uint8_t { kStarting, kRunning, kFailed, kEnded };
  using Clock = std::chrono::steady_clock;

  Runtime() = default;
  static Runtime& instance();
  void loop();
  bool initialise();
  void runTasks();
  Client::Activity pollClients();
  void pause(const Client::Activity& activity);
  void progress();
  void endMpi();
  void loseAll(const std::string& reason);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable changed_;  // the state, or a task has run
  State state_ = State::kStarting;
  bool started_ = false;
  bool ours_ = true;  // who has initialised MPI ends it
  std::string failure_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::shared_ptr<Client>> clients_;
  std::atomic<bool> news_{false};
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> spoiled_{false};
  int worldRank_ = 0;
  int worldSize_ = 1;
  Clock::time_point lastMove_{};  // the thread's own
};

}  // namespace lockstep::process_group::mpi
