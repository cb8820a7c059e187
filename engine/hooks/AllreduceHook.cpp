#include "engine/hooks/AllreduceHook.h"

#include <ATen/ATen.h>

#include <utility>

#include "engine/trace/Event.h"

namespace lockstep::hooks {

AllreduceHook::AllreduceHook(std::shared_ptr<process_group::ProcessGroup> group,
                             trace::Tracer* tracer)
    : group_(std::move(group)), trace_(HookTrace::create(tracer)) {}

AllreduceHook::~AllreduceHook() {
  trace_->close();
}

base::Future<at::Tensor> AllreduceHook::run(GradBucket& bucket) {
  const at::Tensor buffer = bucket.buffer();
  const std::size_t index = bucket.index();
  const std::uint32_t step = bucket.step();
  const std::uint64_t bytes = buffer.nbytes();

  process_group::CallOptions options;
  options.bucket = eventBucket(index);
  options.step = step;
  const HookTrace::Moment begun = trace_->now(buffer.device());
  const auto work = group_->allreduce({buffer}, process_group::ReduceOp::kSum, options);
  const auto reduced = work->future().then([trace = trace_, begun, step, index,
                                            bytes](const std::vector<at::Tensor>& tensors) {
    trace->phase(trace::EventKind::kHookCommunicate, begun, HookTrace::learnt(), step,
                 eventBucket(index), bytes);
    return tensors.front();
  });
  if (buffer.is_cpu()) {
    return reduced;
  }
  // The host need not wait for the device: whoever uses the result orders its stream after it.
  bucket.setOrder([work] { work->wait(); });
  return base::Future<at::Tensor>::ready(buffer);
}

}  // namespace lockstep::hooks
