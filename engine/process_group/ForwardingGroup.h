#pragma once

#include <functional>
#include <vector>

#include "engine/process_group/CallMaker.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group {

/// One call on its way through a wrapper.
struct ForwardedCall {
  Call call;  ///< `sequence` is not set
  /// The tensors that `call` describes; for alltoall the input, for recv the output.
  std::vector<at::Tensor> tensors;
  /// What Work::result() of the call holds.
  std::vector<at::Tensor> outputs;
  /// Makes the call on a group.
  std::function<ProcessGroup::WorkPtr(ProcessGroup& group)> issue;
};

/// A ProcessGroup that makes its calls on others. Arguments are checked here, at the call, so a
/// wrapper may issue later than it was called. [any-thread]
class ForwardingGroup : public ProcessGroup {
 public:
  /// `name` is for error texts and for backendName().
  ForwardingGroup(int rank, int size, std::string groupName, std::string name);

  [[nodiscard]] std::string backendName() const override { return name_; }

  WorkPtr broadcast(std::vector<at::Tensor> tensors, int root,
                    const CallOptions& options = {}) final;
  WorkPtr allreduce(std::vector<at::Tensor> tensors, ReduceOp op = ReduceOp::kSum,
                    const CallOptions& options = {}) final;
  WorkPtr reduce(at::Tensor tensor, int root, ReduceOp op = ReduceOp::kSum,
                 const CallOptions& options = {}) final;
  WorkPtr allgather(std::vector<at::Tensor> outputs, at::Tensor input,
                    const CallOptions& options = {}) final;
  WorkPtr gather(std::vector<at::Tensor> outputs, at::Tensor input, int root,
                 const CallOptions& options = {}) final;
  WorkPtr scatter(at::Tensor output, std::vector<at::Tensor> inputs, int root,
                  const CallOptions& options = {}) final;
  WorkPtr reduceScatter(at::Tensor output, std::vector<at::Tensor> inputs,
                        ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) final;
  WorkPtr alltoall(at::Tensor output, at::Tensor input,
                   std::vector<std::int64_t> outputSplits = {},
                   std::vector<std::int64_t> inputSplits = {},
                   const CallOptions& options = {}) final;
  WorkPtr send(at::Tensor tensor, int to, int tag = 0, const CallOptions& options = {}) final;
  WorkPtr recv(at::Tensor tensor, int from, int tag = 0, const CallOptions& options = {}) final;
  WorkPtr barrier(const CallOptions& options = {}) final;

 protected:
  virtual WorkPtr forward(ForwardedCall call) = 0;

 private:
  const std::string name_;
  const CallMaker calls_;
};

}  // namespace lockstep::process_group
