#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

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
  using Body = std::function<void(Flight&, Scratch&)>;

  Dispatcher(Member member, std::unique_ptr<Transport> transport,
             std::shared_ptr<store::Store> store);
  /// After close().
  ~Dispatcher() override;

  /// Waits up to five seconds for what is in flight and its callbacks, fails what is left, what has
  /// been abandoned at once, and leaves the others. Not from a callback of its own works.
  void close();

  /// Queues `body` as the group's next operation. The returned Work ends with `outputs`.
  std::shared_ptr<WorkState> submit(Call call, std::vector<at::Tensor> outputs,
                                    std::chrono::milliseconds limit, Body body);
  /// The same for a send or recv.
  std::shared_ptr<WorkState> submitDirect(Call call, at::Tensor tensor, int tag,
                                          std::chrono::milliseconds limit);

  /// Ends an operation, well or by its failure; its callbacks run. `lane` belongs to the calling
  /// thread; null when the operation never started or is recorded already. `alone` fails this
  /// operation and leaves the group intact.
  void end(const FlightPtr& flight, trace::Lane* lane, std::uint64_t startTicks,
           const std::optional<Failure>& alone = std::nullopt);

  using WatchedCalls::waitForEarlier;

  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  /// Fails what is in flight and all later calls, and tells the other ranks. Spares the collectives
  /// that were called before `before`, an OpenCall::entry.
  void breakGroup(const Failure& failure, std::uint64_t before = kAll);
  /// The same since the connection to a peer has broken, with what is known of the cause.
  void breakGroup(const PeerLost& lost) { breakGroup(explain(lost)); }

 private:
  FlightPtr enter(Call call, std::vector<at::Tensor> outputs, std::chrono::milliseconds limit);
  void run(const FlightPtr& flight, Body body, std::size_t worker);
  void fail(const Failure& failure, std::uint64_t before);
  void tellOthers();
  void closeWhenOver();
  void look() override;
  void look(const FlightPtr& flight, Clock::time_point now, bool oldest);
  [[nodiscard]] Failure explain(const PeerLost& lost);
  [[nodiscard]] Failure timeOut(const Flight& flight);

  const std::unique_ptr<Transport> transport_;
  const std::unique_ptr<PointToPoint> direct_;
  std::vector<Clock::time_point> suspectSince_;  // by peer; the watch's own
  std::once_flag told_;
  bool announced_ = false;  // as far as the store answered
  bool closed_ = false;
  const std::vector<trace::Lane*> lanes_;  // by worker, as what follows
  std::vector<Scratch> scratch_;
  Workers workers_;
};

}  // namespace lockstep::process_group::gloo
