#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/process_group/Request.h"
#include "engine/process_group/mpi/Flight.h"
#include "engine/process_group/mpi/Inquiry.h"
#include "engine/process_group/mpi/Meeting.h"
#include "engine/process_group/mpi/PointToPoint.h"
#include "engine/process_group/mpi/Runtime.h"
#include "engine/process_group/operation/GroupCalls.h"
#include "engine/process_group/operation/Workers.h"

namespace lockstep::process_group::mpi {

// Note [Order of collectives]
// MPI matches collectives by their order on a communicator, so the MPI thread posts the first
// rounds in the order of the calls, however soon a worker has prepared them; kMostOpen at most are
// open at once, the oldest ones, which all ranks come to. Later rounds are messages between pairs,
// told apart by tags. A barrier, which is posted only once everything before it has ended here,
// has a communicator of its own, on which only barriers must agree.

/// Runs the operations of one group: the MPI thread posts and tests their requests, workers
/// ("mpi 0", ...) prepare them, compute between their rounds and end them, callbacks included. The
/// first failure breaks the group: what is in flight fails, later calls fail at once. Collectives
/// called before the one that failed, or before an abort, are spared for a moment: other ranks may
/// have ended them, or wait for this one's part. What MPI still has of the rest stays in memory
/// until the process ends. [any-thread]
class Dispatcher final : public GroupCalls<Flight>, public Client {
 public:
  /// A group of one has no MPI: connected.runtime is null, and its schedules have no rounds.
  Dispatcher(Member member, const Connected& connected);
  /// After close().
  ~Dispatcher() override;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Queues the group's next operation.
  std::shared_ptr<WorkState> submit(Request request, std::chrono::milliseconds limit);

  /// Waits up to five seconds for what is in flight, fails what is left, and ends the threads.
  void close();

  /// Fails what is in flight and all later calls, but for collectives that were called before
  /// `before`, an OpenCall::entry: these have a moment to end.
  void breakGroup(const Failure& failure, std::uint64_t before = kAll);

  /// Hands an operation whose requests are done to a worker: `last`, then its callbacks. `alone`
  /// fails it and leaves the group intact.
  void finish(const FlightPtr& flight, std::function<void()> last = nullptr,
              const std::optional<Failure>& alone = std::nullopt);

  Activity poll() override;
  void lose(const std::string& reason) override;
  void retire() override;

 private:
  void prepare(const FlightPtr& flight);
  void compute(const FlightPtr& flight, const std::function<void()>& function);
  void runAlone(const FlightPtr& flight);
  void endsWell(const Flight& flight) override;
  void failedBy(const FlightPtr& flight, Failure failure);
  void endFailed();

  // Of the MPI thread.
  struct Fresh {
    std::vector<FlightPtr> resumed;
    std::vector<PointToPoint::Transfer> transfers;
  };
  Fresh takeNew();
  void start(Fresh fresh);
  void startReady(Activity& activity);
  void startBarrier(Activity& activity);
  void post(const FlightPtr& flight);
  void testOpen(Activity& activity);
  void roundDone(const FlightPtr& flight);
  void keepLimits();
  void inquire(Flight::Clock::time_point now);
  [[nodiscard]] Failure timeOut(const Flight& flight) const;
  void dropFailed();
  void abandon();
  [[nodiscard]] bool earlierDone(const Flight& flight) const;
  [[nodiscard]] bool broken() const { return isBroken_.load(std::memory_order_acquire); }

  Runtime* const runtime_;
  const MPI_Comm comm_;
  const MPI_Comm barrierComm_;

  // Under the mutex.
  std::vector<FlightPtr> new_;      // calls that the MPI thread has not seen, in their order
  std::vector<FlightPtr> resumed_;  // whose next round may be posted
  std::deque<FlightPtr> newBarriers_;
  std::vector<PointToPoint::Transfer> newTransfers_;
  std::atomic<bool> isBroken_{false};
  bool stopping_ = false;

  // The MPI thread's own.
  std::deque<FlightPtr> waiting_;
  std::deque<FlightPtr> barriers_;
  std::vector<FlightPtr> open_;
  std::unique_ptr<PointToPoint> pointToPoint_;
  std::unique_ptr<Inquiry> inquiry_;
  Flight::Clock::time_point nextLook_{};

  Workers workers_;
  std::thread ender_;  // fails what is in flight when the group breaks
};

}  // namespace lockstep::process_group::mpi
