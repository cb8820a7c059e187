#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::plugin {

/// A call of a hook on one bucket, of one rank.
struct TimedCall {
  std::uint64_t bytes = 0;  ///< of the bucket
  double encodeMs = 0;      ///< its own time before anything travels
  double decodeMs = 0;      ///< and after

  bool operator==(const TimedCall&) const = default;
};

/// What came out when one hook was verified on a number of ranks.
struct Verification {
  int ranks = 0;
  /// What is wrong, a sentence each, which names the hook and, where there are, rank, bucket and
  /// step; empty: the hook keeps its contract.
  std::vector<std::string> problems;
  /// Why it cannot work on that many ranks, or with these values: the hook's own sentence. Empty:
  /// it can.
  std::string refusal;
  /// What could not be verified, and why.
  std::vector<std::string> notes;
  std::string optimizer;         ///< what the hook was told of: "sgd, momentum 0.9"
  bool ownsUpdate = false;       ///< it stepped the parameters itself
  bool gradientsSame = false;    ///< bit by bit on all ranks, in every step
  bool parametersSame = false;   ///< bit by bit on all ranks, after the end of the run
  double meanError = -1;         ///< lockstep_hook_info::mean_error, measured; negative: it was not
  std::int64_t stateBytes = -1;  ///< of rank 0; negative: it keeps no state
  double stepMs = 0;             ///< of all its calls of a step, the median; 0: was not measured
  double allreduceMs = 0;        ///< of the engine's own allreduce of the same tensors
  std::uint64_t sentBytes = 0;   ///< in a step, by the rank that sent most
  // What those steps were of, and how long rank 0's hook itself worked in them.
  std::uint64_t elements = 0;       ///< of the gradients of a step
  std::uint64_t gradientBytes = 0;  ///< of them
  double aroundStepMs = 0;          ///< beside its calls on buckets, in the middle
  std::vector<TimedCall> calls;     ///< empty: was not measured

  bool operator==(const Verification&) const = default;
};

/// The JSON that lockstep-hookverify prints, and back. [any-thread]
std::string toJson(const Verification& verification);
base::Result<Verification> verificationFromJson(std::string_view json);

}  // namespace lockstep::plugin
