#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/process_group/nccl/Flight.h"
#include "engine/process_group/nccl/Library.h"
#include "engine/process_group/operation/WatchedCalls.h"
#include "engine/store/Store.h"

namespace lockstep::process_group::nccl {

/// Looks after the operations of one group that devices have in hand: a thread ("nccl") ends each
/// when its device has, whatever their order, and records when the device began and ended it; a
/// thread ("nccl watch") keeps the time limits, hears of errors of the library, and says in one
/// sentence what is known: rank, operation, sequence number, how far the device came, and which
/// ranks have not come to it or made another call. The first failure breaks the group: the other
/// ranks are told through the store, all that is in flight fails, the communicators are aborted,
/// so that kernels that wait for a peer end, and later calls fail at once. [any-thread]
class Watchdog final : public WatchedCalls<Flight> {
 public:
  struct Control {
    std::function<void()> abort;  ///< gives all up; called at most once
    std::function<void()> check;  ///< throws LibraryError when one has failed
  };

  Watchdog(Member member, Control communicators, std::shared_ptr<store::Store> store);
  /// Waits up to five seconds for what is in flight, then fails what is left.
  ~Watchdog() override;

  /// Numbers a call. When the group is broken its work is failed already, and it must not be
  /// launched.
  std::shared_ptr<Flight> enter(Call call, std::vector<at::Tensor> outputs,
                                std::chrono::milliseconds limit);

  /// The call's begin, end, clock and kept memory are set, and its device has it.
  void launched(const std::shared_ptr<Flight>& flight);

  /// Those that were called before `flight` and have not ended.
  [[nodiscard]] std::vector<std::shared_ptr<Flight>> flightsBefore(const Flight& flight) const;

  /// Fails everything. The first reason counts.
  void breakGroup(const Failure& failure);
  /// The same because of one operation, which fails with the reason itself.
  void fail(const std::shared_ptr<Flight>& flight, const Failure& failure);

  [[nodiscard]] bool broken() const;
  /// What is known of an operation whose time is up.
  [[nodiscard]] Failure timeOut(const Flight& flight);
  /// What is known where the library failed; waits a while for the ranks that are left to say why,
  /// or that they are there, where it lost a connection.
  [[nodiscard]] Failure explain(const std::shared_ptr<Flight>& flight, const LibraryError& error);
  /// Whether anybody wants to know when devices begin and end.
  [[nodiscard]] bool recording() const { return lane_->enabled(); }

  /// Waits for everything in flight, a while; what then is left fails.
  void drain();

 private:
  using Flights = std::vector<std::shared_ptr<Flight>>;

  void breakGroup(const Failure& failure, const Flight* first, const Failure& ofFirst);
  void endLoop();
  void look() override;
  bool tryEnd(const std::shared_ptr<Flight>& flight);
  void record(const Flight& flight);
  void remove(const std::shared_ptr<Flight>& flight);
  void releaseAbandoned();
  void watch(const std::shared_ptr<Flight>& flight, bool oldest);
  void inquire(const std::shared_ptr<Flight>& flight, bool oldest);
  [[nodiscard]] bool isLaunched(const Flight& flight) const;

  const Control communicators_;
  trace::Lane* const lane_;
  Flights abandoned_;  // failed; their devices may still work on the memory that is kept

  std::thread ends_;
};

}  // namespace lockstep::process_group::nccl
