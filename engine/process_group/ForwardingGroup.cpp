#include "engine/process_group/ForwardingGroup.h"

namespace lockstep::process_group {

ForwardingGroup::ForwardingGroup(int rank, int size, std::string groupName, std::string name)
    : ProcessGroup(rank, size, std::move(groupName)),
      name_(std::move(name)),
      calls_(name_, rank, size, CallMaker::Devices::kAny) {}

ProcessGroup::WorkPtr ForwardingGroup::broadcast(std::vector<at::Tensor> tensors, int root,
                                                 const CallOptions& options) {
  return forward({calls_.broadcast(tensors, root, options), tensors, tensors,
                  [tensors, root, options](ProcessGroup& group) {
                    return group.broadcast(tensors, root, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::allreduce(std::vector<at::Tensor> tensors, ReduceOp op,
                                                 const CallOptions& options) {
  return forward({calls_.allreduce(tensors, op, options), tensors, tensors,
                  [tensors, op, options](ProcessGroup& group) {
                    return group.allreduce(tensors, op, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::reduce(at::Tensor tensor, int root, ReduceOp op,
                                              const CallOptions& options) {
  return forward({calls_.reduce(tensor, root, op, options), {tensor}, {tensor},
                  [tensor, root, op, options](ProcessGroup& group) {
                    return group.reduce(tensor, root, op, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::allgather(std::vector<at::Tensor> outputs,
                                                 at::Tensor input, const CallOptions& options) {
  return forward({calls_.allgather(outputs, input, options), {input}, outputs,
                  [outputs, input, options](ProcessGroup& group) {
                    return group.allgather(outputs, input, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::gather(std::vector<at::Tensor> outputs, at::Tensor input,
                                              int root, const CallOptions& options) {
  return forward({calls_.gather(outputs, input, root, options), {input}, outputs,
                  [outputs, input, root, options](ProcessGroup& group) {
                    return group.gather(outputs, input, root, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::scatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                               int root, const CallOptions& options) {
  return forward({calls_.scatter(output, inputs, root, options), {output}, {output},
                  [output, inputs, root, options](ProcessGroup& group) {
                    return group.scatter(output, inputs, root, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::reduceScatter(at::Tensor output,
                                                     std::vector<at::Tensor> inputs, ReduceOp op,
                                                     const CallOptions& options) {
  return forward({calls_.reduceScatter(output, inputs, op, options), {output}, {output},
                  [output, inputs, op, options](ProcessGroup& group) {
                    return group.reduceScatter(output, inputs, op, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::alltoall(at::Tensor output, at::Tensor input,
                                                std::vector<std::int64_t> outputSplits,
                                                std::vector<std::int64_t> inputSplits,
                                                const CallOptions& options) {
  Call call = calls_.alltoall(output, input, outputSplits, inputSplits, options);
  return forward({std::move(call), {input}, {output},
                  [output, input, outputSplits, inputSplits, options](ProcessGroup& group) {
                    return group.alltoall(output, input, outputSplits, inputSplits, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::send(at::Tensor tensor, int to, int tag,
                                            const CallOptions& options) {
  return forward({calls_.send(tensor, to, tag, options), {tensor}, {tensor},
                  [tensor, to, tag, options](ProcessGroup& group) {
                    return group.send(tensor, to, tag, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::recv(at::Tensor tensor, int from, int tag,
                                            const CallOptions& options) {
  return forward({calls_.recv(tensor, from, tag, options), {tensor}, {tensor},
                  [tensor, from, tag, options](ProcessGroup& group) {
                    return group.recv(tensor, from, tag, options);
                  }});
}

ProcessGroup::WorkPtr ForwardingGroup::barrier(const CallOptions& options) {
  return forward({calls_.barrier(options), {}, {},
                  [options](ProcessGroup& group) { return group.barrier(options); }});
}

}  // namespace lockstep::process_group
