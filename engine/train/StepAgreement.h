#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/experiment/SettingChange.h"
#include "engine/store/Store.h"

namespace lockstep::train {

// Note [Deciding together]
// Ranks must not stop, nor change how they train, at different steps: the one that goes on would
// wait for a collective that never comes. Nor may the question cost a collective a step, and with
// hooks that let ranks run apart (gossip, local steps) not even a finished step says where the
// others are. So rank 0 decides, through the store, and only now and then: at a step named in
// advance, the boundary, every rank reads rank 0's word, which rank 0 has posted there: whether to
// stop, what changes, and which step the next boundary is, about `lease` later at its own pace.
// Rank 0 never waits; who is ahead of it waits for its word, and rank 0 needs nothing to get
// there but steps that the others have done.
// In a Join rank 0 goes on to decide when it is out of inputs, since it takes part in each
// iteration of the others; otherwise it says before it leaves that no boundary follows.

/// What holds from a step on, on all ranks.
struct StepDecision {
  bool stop = false;  ///< the step is not begun
  std::vector<experiment::SettingChange> changes;
};

/// Decides for all ranks before which step they stop or change a setting. [step-thread]
class StepAgreement {
 public:
  /// `requested`, that this rank is asked to stop, is set by a signal handler. Between two
  /// questions to the store lie about `lease`, one step at least, and at most twice as many steps
  /// as the last time.
  StepAgreement(store::Store& store, int rank, int worldSize, const std::atomic<bool>& requested,
                std::chrono::milliseconds lease = std::chrono::milliseconds(250));

  /// Call it between synchronised steps, on every rank before the same ones. Throws StoreError,
  /// which names rank 0 when that did not come to `nextStep` within the store's time limit.
  StepDecision before(std::int64_t nextStep);

  /// This rank is out of inputs and will not begin `nextStep`. `shadows`: it takes part in the
  /// iterations of the others, and calls shadowed() after each. Throws StoreError.
  void leave(std::int64_t nextStep, bool shadows);
  void shadowed(std::int64_t nextStep);

 private:
  using Clock = std::chrono::steady_clock;

  StepDecision decide(std::int64_t nextStep);
  StepDecision read();
  void passOn();
  [[nodiscard]] std::int64_t nextBoundary(std::int64_t nextStep);
  [[nodiscard]] std::vector<experiment::SettingChange> takeChanges();

  store::Store& store_;
  const int rank_;
  const int worldSize_;
  const std::atomic<bool>& requested_;
  const std::chrono::milliseconds lease_;
  std::int64_t boundary_ = 0;  // the first step of the run that is asked about, or a later one
  bool passedOn_ = false;

  // Of rank 0.
  std::int64_t decidedStep_ = -1;
  Clock::time_point decidedAt_;
  std::int64_t stride_ = 0;
  std::int64_t taken_ = 0;  // changes
};

}  // namespace lockstep::train
