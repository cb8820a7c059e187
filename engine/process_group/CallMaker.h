#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/process_group/Call.h"

namespace lockstep::process_group {

/// Checks the arguments of each operation of a ProcessGroup and describes the call. A refusal
/// throws std::invalid_argument, "<backend>::<operation>: <parameter> ...". Used by backends and
/// by wrappers, which must refuse at the call what the backend would refuse later. [any-thread]
class CallMaker {
 public:
  enum class Devices { kCpu, kAny };

  /// `backend` opens the texts.
  CallMaker(std::string backend, int rank, int size, Devices devices = Devices::kCpu);

  [[nodiscard]] Call broadcast(const std::vector<at::Tensor>& tensors, int root,
                               const CallOptions& options) const;
  [[nodiscard]] Call allreduce(const std::vector<at::Tensor>& tensors, ReduceOp op,
                               const CallOptions& options) const;
  [[nodiscard]] Call reduce(const at::Tensor& tensor, int root, ReduceOp op,
                            const CallOptions& options) const;
  [[nodiscard]] Call allgather(const std::vector<at::Tensor>& outputs, const at::Tensor& input,
                               const CallOptions& options) const;
  [[nodiscard]] Call gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input,
                            int root, const CallOptions& options) const;
  [[nodiscard]] Call scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs,
                             int root, const CallOptions& options) const;
  [[nodiscard]] Call reduceScatter(const at::Tensor& output,
                                   const std::vector<at::Tensor>& inputs, ReduceOp op,
                                   const CallOptions& options) const;
  /// Fills empty splits with equal parts.
  [[nodiscard]] Call alltoall(const at::Tensor& output, const at::Tensor& input,
                              std::vector<std::int64_t>& outputSplits,
                              std::vector<std::int64_t>& inputSplits,
                              const CallOptions& options) const;
  [[nodiscard]] Call send(const at::Tensor& tensor, int to, int tag,
                          const CallOptions& options) const;
  [[nodiscard]] Call recv(const at::Tensor& tensor, int from, int tag,
                          const CallOptions& options) const;
  [[nodiscard]] Call barrier(const CallOptions& options) const;

 private:
  const std::string backend_;
  const int rank_;
  const int size_;
  const bool cpuOnly_;
};

}  // namespace lockstep::process_group
