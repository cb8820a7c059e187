#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Segment.h"

namespace lockstep::process_group {

/// What one rank asks of its group, and what all ranks must agree on.
struct Call {
  trace::Operation operation = trace::Operation::kNone;
  ReduceOp reduce = ReduceOp::kSum;  ///< for operations that reduce
  int root = -1;                     ///< root, or the peer of send and recv
  c10::ScalarType dtype = c10::ScalarType::Byte;  ///< of the first tensor
  std::uint64_t elements = 0;                     ///< of all tensors together
  std::uint64_t bytes = 0;   ///< payload, as events carry it
  std::uint32_t tensors = 0;
  std::uint64_t layout = 0;  ///< hash over dtype and element count of each tensor
  std::uint64_t shapes = 0;  ///< hash over the sizes of each tensor
  std::vector<std::uint64_t> bytesTo;    ///< alltoall: to and from each rank, this one included
  std::vector<std::uint64_t> bytesFrom;
  std::uint64_t sequence = 0;
  CallOptions options;

  /// Sets dtype, elements, bytes, tensors, layout and shapes.
  void describeTensors(const std::vector<at::Tensor>& tensors);
};

/// "float", "bfloat16".
[[nodiscard]] std::string dtypeName(c10::ScalarType dtype);

[[nodiscard]] bool reduces(trace::Operation operation);

/// Whether it is send or recv, which concern two ranks only.
[[nodiscard]] bool isDirect(trace::Operation operation);

/// Returns what a call may take: its own time limit or the group's, at most a year, so that sums
/// with it and its nanoseconds stay in range.
[[nodiscard]] std::chrono::milliseconds timeLimit(std::chrono::milliseconds ofCall,
                                                  std::chrono::milliseconds ofGroup);
[[nodiscard]] std::chrono::milliseconds timeLimit(const CallOptions& options,
                                                  const ProcessGroup& group);

/// "allreduce(sum) of 1000 float", "broadcast from rank 0 of 3 tensors, 1200 bytes".
[[nodiscard]] std::string describe(const Call& call);

/// Differs, but for chance, whenever two ranks' calls do not belong together: operation,
/// reduce operation, root, dtypes or sizes. Sizes of an alltoall are left out.
[[nodiscard]] std::uint64_t fingerprint(const Call& call);

/// Writes into a rank's last words which of its operations has been open longest; null: none is.
/// Callers take turns under a lock of theirs.
void tellOldest(trace::LastWords& words, const Call* oldest);

/// Mixes `value` into `hash`.
[[nodiscard]] std::uint64_t mix(std::uint64_t hash, std::uint64_t value);

}  // namespace lockstep::process_group
