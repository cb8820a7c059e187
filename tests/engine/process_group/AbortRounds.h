#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/store/Store.h"

namespace lockstep::process_group {

/// Some steps of an allreduce each, after which one rank aborts its group.
struct AbortRound {
  enum class Order {
    kOthersWait,      ///< the rank has ended its steps; the others are in wait()
    kOthersComeLate,  ///< likewise; they look when it has aborted
    kAtOnce,          ///< all have made their calls; nobody has waited for them
  };
  int steps = 3;
  int aborter = 0;
  Order order = Order::kOthersWait;
  std::int64_t elements = 1;
  /// The others have one more call in flight, which that rank never makes. Not where a rank that
  /// gives up cannot tell the others, who would wait for their time limit (MPI).
  bool oneMore = true;
  /// What the others do with the end of each step, in its callback, takes that long.
  std::chrono::milliseconds callback{0};

  /// The `number`-th of all combinations, over and over.
  static AbortRound of(int number, int ranks);
  [[nodiscard]] std::string text() const;
};

/// Its steps together take longer than the moment that an abort leaves to one of them; each takes
/// so much less that a busy machine does not make it miss its own.
inline constexpr AbortRound kAbortBeforeStepsThatTakeTheirTime{
    .steps = 8,
    .order = AbortRound::Order::kAtOnce,
    .elements = 30'000,
    .callback = std::chrono::milliseconds(100)};

/// How the ranks of a round hear of each other, without the group.
struct AbortRoundSignals {
  std::function<void()> allHaveCalled;  ///< returns once every rank is here
  std::function<void()> tellAborted;
  std::function<void()> awaitAborted;
};

/// This rank's part; returns how each of its steps that has failed or is wrong came to that. It is
/// lost: the others took it, or were to.
std::vector<std::string> stepsLostBy(ProcessGroup& group, const AbortRound& round,
                                     const AbortRoundSignals& signals);

/// Ranks as threads, with a new group whose parts `make` makes; a rank destroys its part as soon as
/// it is done.
using MakePart = std::function<base::Result<std::shared_ptr<ProcessGroup>>(
    std::shared_ptr<store::Store> store, int rank)>;
void expectNoStepLost(int ranks, const MakePart& make, const AbortRound& round);
/// 200 rounds.
void expectNoStepLost(int ranks, const MakePart& make);

}  // namespace lockstep::process_group
