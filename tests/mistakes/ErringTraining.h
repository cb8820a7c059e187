#pragma once

#include <string>
#include <vector>

namespace lockstep::mistakes {

/// What a rank does wrong. Those up to kCapDiffers are made before the model is wrapped.
enum class Mistake {
  kDtypeDiffers,
  kOrderSwapped,
  kCapDiffers,
  kParameterUnused,
  kModuleMoved,
  kReduceOperationDiffers,
  kRootDiffers,
  kSizeDiffers,
  kPeerKilled,
  kPeerStopped,
  kHookResultShort,
  kHookResultOfWrongDtype,
  kHookThrows,
  kBackwardSkipped,
};

/// The step in which mistakes of the training loop are made: buckets are rebuilt by then.
constexpr int kPlantedStep = 2;

/// The role (ChildRole.h) of a rank that trains four steps over Gloo; the last rank makes the
/// mistake. Arguments: the store's file, the mistake as a number, the time limit in ms.
///
/// Prints one line, "construction: <text>" or "step <n>: <text>", for the error that ends it, and
/// leaves with kErrorSeen; without an error it leaves with 0.
constexpr const char* kTrainingRole = "train-with-a-mistake";
constexpr int kErrorSeen = 4;

}  // namespace lockstep::mistakes
