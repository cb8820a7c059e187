#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/process_group/operation/GroupCalls.h"
#include "engine/process_group/shared_memory/Directory.h"
#include "engine/process_group/shared_memory/Operation.h"
#include "engine/process_group/shared_memory/Transfer.h"

namespace lockstep::process_group::shared_memory {

// Note [Who drives]
// Operations of a group stand in a queue and end in its order. To post one (put this rank's part
// on the board, which is its arrival) needs no other rank, so the call itself does it when it can:
// when all before it are posted, its slot is free, and its bytes need not be staged. Up to
// Board::kSlots operations are thus under way at once. To complete one, somebody has to drive:
// one thread at a time, in the queue's order. It is
//
//   the caller      when everybody else has arrived already and all is inline: the operation is
//                   done when the call returns; likewise in Work::isCompleted()
//   a waiter        in Work::wait() without a limit of its own, if nobody drives: it drives up to
//                   the operation that it waits for
//   "shm 0"         the communication thread, for what is large, what cannot be posted at once,
//                   and what somebody has asked a future of
//
// A Reducer asks futures, so that its buckets are reduced by the communication thread while the
// backward goes on. Without that thread, by the thread of the backward alone, which completes what
// all have come to at each call and the rest at its end, a step takes 0.99 to 1.02 times as long
// (mlp, char_gpt and resnet18 on 2 ranks, mlp on 4; two cores; all intervals contain 1): where
// ranks take all cores it does not matter who reduces, elsewhere the thread has a core of its own.
//
// Callbacks of futures run on the communication thread, whoever has driven. It also settles what
// a failure has ended. No lock is held while callbacks run; if one waits for an operation of
// this group with Work::wait(), the communication thread drives on inside it, up to the end of
// that operation even if the wait has a shorter limit of its own.

/// Runs the operations of one group. The first failure breaks the group: what is in flight fails,
/// the other ranks are told, and later calls fail at once. Collectives called before the one that
/// failed, or before an abort, are spared for a moment: see Note [What an abort leaves].
/// [any-thread]
class Dispatcher final : public GroupCalls<Operation>,
                         public std::enable_shared_from_this<Dispatcher> {
 public:
  Dispatcher(Member member, std::unique_ptr<Board> board, std::shared_ptr<Mesh> mesh,
             std::shared_ptr<Directory> directory);
  ~Dispatcher() override;

  /// Starts the communication thread.
  void start();
  /// Waits up to five seconds for what is in flight, fails what is left, waits as long for the
  /// callbacks of that, and ends the communication thread. Not from a callback.
  void close();

  /// Queues a collective. Its work ends with `outputs`.
  OperationPtr submit(Call call, std::vector<at::Tensor> outputs, std::chrono::milliseconds limit,
                      CollectivePtr collective);

  /// Takes part in the bookkeeping with a send or receive, which runs elsewhere and is numbered
  /// apart. Whoever runs it ends it with end(), unless it has failed when this returns.
  OperationPtr open(Call call, std::vector<at::Tensor> outputs, std::chrono::milliseconds limit);
  /// Ends it; `alone` fails it and leaves the group intact.
  void end(const OperationPtr& operation, const Failure& alone = {});

  // For works.
  void drive(const OperationPtr& operation);
  [[nodiscard]] bool onThread() const { return std::this_thread::get_id() == threadId_.load(); }
  void advance();
  void handOver(Operation& operation);
  [[nodiscard]] std::string waitingFor(const Operation& operation);

  /// Whether a group that breaks gives earlier collectives time to end, or ends at once what needs
  /// more than this rank, since another one is gone.
  enum class Patience : std::uint8_t { kMoment, kNone };
  /// Fails what is in flight and all later calls, and tells the other ranks.
  void breakGroup(const Failure& failure, Patience patience = Patience::kMoment);
  /// Work::abort().
  void abort(Operation& operation);
  /// Fails one operation, unless it is delivered, which breaks the group.
  void failOne(Operation& operation, const Failure& failure);

  // For the watch.
  /// A rank is gone: breaks the group if something in flight needs it, or else at the next call.
  void lose(int rank, const Failure& failure);
  /// Breaks the group if an operation's time has passed, and ends what a broken one has spared when
  /// its moment has. Returns whether any is in flight.
  bool checkTimes();
  /// Some rank has given up, and why may still be heard.
  [[nodiscard]] bool reasonMayCome();

  /// `handler` is called when the group breaks; it gives the operations from open() that it runs
  /// back with end(). Before the first open().
  void setBreakHandler(std::function<void()> handler) { breakHandler_ = std::move(handler); }

  [[nodiscard]] const Tuning& tuning() const { return board_->tuning(); }

 private:
  OperationPtr enter(Call call, std::vector<at::Tensor> outputs, std::chrono::milliseconds limit,
                     CollectivePtr collective);
  void choose(Operation& operation) const;
  [[nodiscard]] bool needsThread(const Call& call) const;

  // Driving.cpp
  [[nodiscard]] bool mayPost(const Operation& operation) const;
  [[nodiscard]] bool slotFree(std::uint64_t order) const;
  [[nodiscard]] bool directsBefore(const Operation& operation) const;
  void post(Operation& operation);
  void postWhatMay();
  [[nodiscard]] bool allHaveCome(const Operation& operation) const;
  [[nodiscard]] bool allInline(const Operation& operation) const;
  [[nodiscard]] bool ready(const Operation& operation) const;
  void runHead(Lock& lock, bool spins);
  void perform(Operation& operation, bool posted, bool spins);
  void awaitTurn(Operation& operation, Waiter& waiter);
  std::byte* staging();
  void advance(Lock& lock);
  void finish(const OperationPtr& operation, Lock& lock);
  [[nodiscard]] std::vector<std::shared_ptr<WorkState>> untoldBefore(
      const Operation& operation) const;
  void settle(const OperationPtr& operation, Lock& lock);
  void settleNext(Lock& lock);
  [[nodiscard]] bool threadDrives() const;
  void sleep(Lock& lock);
  void work();

  void failAbandoned(const Failure& failure);
  [[nodiscard]] std::size_t spared(Patience patience);
  [[nodiscard]] std::size_t refuseRest(Patience patience);
  [[nodiscard]] bool hears();
  [[nodiscard]] Failure timeOut(const Operation& operation) const;

  const std::unique_ptr<Board> board_;
  const std::shared_ptr<Mesh> mesh_;
  const std::shared_ptr<Directory> directory_;
  trace::Lane* const lane_;
  trace::Lane* const directLane_;

  // Under the mutex. Calls leave the ledger once they are settled.
  std::condition_variable wake_;     // the communication thread
  int sleepers_ = 0;                 // that wait for changed_, so that nobody is told in vain
  std::deque<OperationPtr> queue_;   // collectives that have not ended
  std::deque<OperationPtr> ending_;  // what the communication thread is to settle
  std::uint64_t posted_ = 0;         // order of the last that stands on the board
  std::uint64_t background_ = 0;     // order up to which the communication thread drives
  std::array<Transfer::Bases, Board::kSlots> bases_{};
  bool driving_ = false;  // somebody runs the head of the queue
  Failure lost_;          // a rank that nothing in flight needs is gone
  std::function<void()> breakHandler_;
  std::optional<Operation::Clock::time_point> reasonBy_;
  bool closing_ = false;
  std::shared_ptr<Segment> staging_;  // its driver's
  SpinLimit spin_;                    // likewise
  std::thread thread_;
  std::atomic<std::thread::id> threadId_;
};

}  // namespace lockstep::process_group::shared_memory
