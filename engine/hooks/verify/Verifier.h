#pragma once

#include <chrono>
#include <functional>

#include "engine/plugin/HookChoice.h"
#include "engine/plugin/Verification.h"

namespace lockstep::hooks {

struct VerifierOptions {
  plugin::ChosenHook hook;
  int ranks = 2;
  std::chrono::milliseconds timeLimit{10000};  ///< for each call of the hook
  /// Called, on a thread of its own, when the hook does not come back from a call on a rank's own
  /// thread, or when all takes too long. The process must end then: verify() does not return.
  std::function<void(const plugin::Verification&)> stuck;
};

// Note [What is verified]
// First a hook is trained with for 110 steps, so that those that begin late have begun, over groups
// that compare the calls of all ranks. Its state is saved, and twelve more steps are taken. Then a
// new hook is loaded with the state and takes the same steps over plain groups: they must give the
// same bits. These are the steps that are timed, and in which rank 0's hook says what it itself
// does, for forecasts (Note [A hook that was verified]). Results are compared on all ranks in every
// step where the hook says that they are the same, and with the mean where it promises something of
// it. Last come a few steps for each other dtype that it takes, and, where it can do with ranks
// that have run out of inputs, some with such a rank.

/// Tries a hook, without any inside it, on threads of this process, against what it says of
/// itself. A hook that crashes takes the process with it; base::CrashNote knows where it was.
plugin::Verification verify(const VerifierOptions& options);

}  // namespace lockstep::hooks
