#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/process_group/Request.h"
#include "engine/process_group/gloo/Collectives.h"
#include "engine/process_group/operation/WatchedCalls.h"
#include "engine/process_group/operation/Workers.h"

namespace lockstep::process_group::gloo {

class PointToPoint;

/// Runs the operations of one group: workers ("gloo 0", ...) that take them in the order of the
/// calls, and a watch that keeps the time limits, notices dead peers and mismatched calls. The
/// first failure breaks the group: what is in flight fails, the other ranks are told, the
/// connections are closed, and later calls fail at once. Collectives called before the one that
/// failed, or before an abort, are spared for a moment, connections and all: ranks that gave up
/// later may have ended them, and others wait for this one's part. [any-thread]
class Dispatcher final : public WatchedCalls<Flight> {
 public:
  Dispatcher(Member member, std::unique_ptr<Transport> transport,
             std::shared_ptr<store::Store> store);
  /// After close().
  ~Dispatcher() override;

  /// Waits up to five seconds for what is in flight and its callbacks, fails what is left, what has
  /// been abandoned at once, and leaves the others. Not from a callback of its own works.
  void close();

  /// As ProcessGroup::moved().
  [[nodiscard]] bool moved() { return transport_->moved(); }

  /// Queues the group's next operation.
  std::shared_ptr<WorkState> submit(Request request, std::chrono::milliseconds limit);

  /// Ends an operation, well or by its failure; its callbacks run. `lane` is as in GroupCalls.
  /// `alone` fails this operation and leaves the group intact.
  void end(const FlightPtr& flight, trace::Lane* lane,
           const std::optional<Failure>& alone = std::nullopt);

  /// Fails what is in flight and all later calls, and tells the other ranks. Spares the collectives
  /// that were called before `before`, an OpenCall::entry.
  void breakGroup(const Failure& failure, std::uint64_t before = kAll);

  /// Runs what moves data, and returns what that fails with; nothing where it is the flight that
  /// has failed. A connection that broke is explained by what is known of the cause.
  std::optional<Failure> attempt(const std::function<void()>& move);

 private:
  void run(const FlightPtr& flight, Request request, trace::Lane* lane);
  void fail(const Failure& failure, std::uint64_t before);
  void tellOthers();
  void closeWhenOver();
  void look() override;
  [[nodiscard]] Failure explain(const PeerLost& lost);
  [[nodiscard]] Failure timeOut(const Flight& flight);

  const std::unique_ptr<Transport> transport_;
  const std::unique_ptr<PointToPoint> direct_;
  std::once_flag told_;
  bool closes_ = false;  // once nothing is spared any more; under the mutex
  Workers workers_;
};

}  // namespace lockstep::process_group::gloo
