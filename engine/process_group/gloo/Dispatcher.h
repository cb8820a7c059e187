#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/process_group/NoticeBoard.h"
#include "engine/process_group/gloo/Flight.h"
#include "engine/process_group/gloo/Transport.h"
#include "engine/process_group/operation/Ledger.h"

namespace lockstep::process_group::gloo {

/// Memory that a worker keeps from operation to operation.
class Scratch {
 public:
  /// Returns at least `bytes`, aligned to 64; what an earlier call returned is gone.
  std::byte* atLeast(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

/// Runs the operations of one group: a queue in the order of the calls, workers ("gloo 0", ...)
/// that take from it, and a watch that keeps the time limits, notices dead peers and mismatched
/// calls. The first failure breaks the group: what is in flight fails, the other ranks are told,
/// the connections are closed, and later calls fail at once. Collectives called before the one that
/// failed, or before an abort, are spared for a moment, connections and all: ranks that gave up
/// later may have ended them, and others wait for this one's part. [any-thread]
class Dispatcher {
 public:
  using Body = std::function<void(Flight&, Scratch&)>;

  Dispatcher(Member member, Transport& transport, std::shared_ptr<store::Store> store);
  /// Drains first. Not from a callback of its own works.
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Queues `body` as the group's next operation. The returned Work ends with `outputs`.
  std::shared_ptr<WorkState> submit(Call call, std::vector<at::Tensor> outputs,
                                    std::chrono::milliseconds limit, Body body);

  /// Takes part in the bookkeeping with an operation that runs elsewhere (send and recv); its
  /// sequence number is counted apart. Whoever runs it ends it with `end`. Null when the group
  /// is broken: `work` is failed already.
  std::shared_ptr<Flight> open(Call call, std::vector<at::Tensor> outputs,
                               std::chrono::milliseconds limit, std::shared_ptr<WorkState>& work);

  /// Waits up to five seconds for what is in flight and its callbacks, then fails what is left;
  /// what has been abandoned at once.
  void drain();

  /// Ends an operation, well or by its failure: events, last words, then its callbacks.
  /// `lane` belongs to the calling thread; null when the operation never started or is recorded
  /// already. `alone` fails this operation and leaves the group intact.
  void end(const std::shared_ptr<Flight>& flight, trace::Lane* lane, std::uint64_t startTicks,
           const std::optional<Failure>& alone = std::nullopt);

  /// Blocks until every operation called before `flight` is complete; throws Interrupted.
  void waitForEarlier(const Flight& flight);

  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  /// Fails what is in flight and all later calls, and tells the other ranks. Spares the collectives
  /// that were called before `before`, an OpenCall::entry.
  void breakGroup(const Failure& failure, std::uint64_t before = kAll);

  /// Turns a broken connection into a failure that says what is known of the cause.
  Failure explain(const PeerLost& lost);

  /// `handler` is called when operations in flight have failed and whoever runs those from open()
  /// must end them. Set before the first open(); it is not running any more when another one is
  /// set.
  void setBreakHandler(std::function<void()> handler);

  [[nodiscard]] std::uint64_t sequence() const;
  /// What the failure that broke the group was.
  [[nodiscard]] GroupState state() const;
  [[nodiscard]] const Records& records() const { return records_; }
  [[nodiscard]] const Member& member() const { return member_; }

 private:
  struct Task {
    std::shared_ptr<Flight> flight;
    Body body;
  };

  /// How long a failing rank waits for the reasons of others.
  static constexpr std::chrono::milliseconds kAsk{300};

  std::shared_ptr<Flight> enter(Call call, std::vector<at::Tensor> outputs,
                                std::chrono::milliseconds limit);
  void workerLoop(int index, trace::Lane& lane);
  void run(Task task, trace::Lane& lane, Scratch& scratch);
  void fail(const Failure& failure, std::uint64_t before);
  void tellOthers();
  void closeWhenOver();
  void failAbandoned();
  void watchLoop();
  void watchOne(const std::shared_ptr<Flight>& flight, Flight::Clock::time_point now, bool oldest);
  [[nodiscard]] Failure timeOut(const Flight& flight);

  const Member member_;
  Transport& transport_;
  NoticeBoard notices_;
  const Records records_;

  mutable std::mutex mutex_;
  std::condition_variable queued_;
  std::condition_variable gone_;
  std::condition_variable watchWake_;
  std::condition_variable announcedWake_;
  std::deque<Task> queue_;
  Ledger<Flight> ledger_;
  bool announced_ = false;  // as far as the store answered
  bool told_ = false;
  bool closed_ = false;
  bool stopping_ = false;

  std::mutex handlerMutex_;  // held while the handler runs; taken last but for the handler's own
  std::function<void()> breakHandler_;

  std::vector<Flight::Clock::time_point> suspectSince_;  // by peer; the watch's own
  std::vector<std::thread> workers_;
  std::thread watch_;
};

}  // namespace lockstep::process_group::gloo
