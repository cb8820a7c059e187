#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/process_group/Arguments.h"
#include "engine/process_group/Call.h"

namespace lockstep::process_group {

/// One call of a group as a value: what a backend carries out, and what a wrapper compares, holds
/// back or passes on.
struct Request {
  Call call;  ///< `sequence` is not set
  /// What Work::result() holds: the tensors that are filled or changed in place; of a send, its
  /// own.
  std::vector<at::Tensor> outputs;
  /// What is read from elsewhere: one tensor of an allgather, gather or alltoall, one a rank of a
  /// scatter or reduceScatter.
  std::vector<at::Tensor> inputs;
  std::vector<std::int64_t> outputSplits;  ///< of an alltoall, in rows, by rank
  std::vector<std::int64_t> inputSplits;
  int tag = 0;  ///< of send and recv

  /// The tensors that `call` describes: those that must be alike on all ranks.
  [[nodiscard]] const std::vector<at::Tensor>& described() const;
};

/// Checks what a request of `rank` asks for, fills empty splits with equal parts, and describes the
/// tensors in its call. A refusal throws std::invalid_argument as `arguments`, which are those of
/// its operation, say. [any-thread]
void complete(Request& request, const Arguments& arguments, int rank);

}  // namespace lockstep::process_group
