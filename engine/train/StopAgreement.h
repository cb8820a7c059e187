#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/store/Store.h"

namespace lockstep::train {

// Note [Stopping together]
// Ranks must not stop at different steps: the one that goes on would wait for a collective that
// never comes. Nor may the question cost a collective a step. So a rank that was asked (SIGTERM)
// posts to the store which step it is about to begin, and trains on. Once every rank has posted,
// all stop before the first step that is later than every number posted. Whoever gets there has
// finished a synchronised step that each rank had begun after posting, so all numbers stand in the
// store by then, and every rank comes to the same answer without waiting.
// A rank that was not asked itself looks into the store once a second, and takes another's
// request for its own.
// In a Join a rank that is out of inputs posts the step it would have begun, and from then on
// takes part in each step of the others, so that the same holds; a request that reaches it is
// passed on through the store.

/// Decides after which step all ranks stop. [step-thread]
class StopAgreement {
 public:
  /// `requested` is set by a signal handler. `pollEvery` limits how often the store is asked
  /// while nothing is requested.
  StopAgreement(store::Store& store, int rank, int worldSize, const std::atomic<bool>& requested,
                std::chrono::milliseconds pollEvery = std::chrono::seconds(1));

  /// Returns whether to stop instead of beginning `nextStep`. Call it after each synchronised
  /// step, and only then. Throws StoreError.
  bool shouldStop(std::int64_t nextStep);

  /// Says that this rank, out of inputs, will not begin `nextStep`, so that the others can agree
  /// without it; it takes part in their steps from then on. Throws StoreError.
  void leave(std::int64_t nextStep);

  /// Tells the others when this rank was asked to stop. Throws StoreError.
  void passOn();

 private:
  void post(std::int64_t nextStep);

  store::Store& store_;
  int rank_;
  const std::atomic<bool>& requested_;
  std::chrono::milliseconds pollEvery_;
  std::chrono::steady_clock::time_point nextPoll_;
  std::vector<std::string> keys_;  // of all ranks' posts
  bool posted_ = false;
  bool passedOn_ = false;
};

}  // namespace lockstep::train
