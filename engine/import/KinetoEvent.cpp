#include "engine/import/KinetoEvent.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/ReadNumber.h"

namespace lockstep::imports {
namespace {

// Longer is no span: an event of a run has 48 bits of ns.
constexpr std::int64_t kLongestNs = std::int64_t{1} << 47;

bool startsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

CallFacts factsOf(const KinetoEvent& event) {
  CallFacts facts;
  facts.operation = operationNamed(event.collective);
  // The events of a run carry one rank's part of a call.
  const bool parts = facts.operation == trace::Operation::kReduceScatter ||
                     facts.operation == trace::Operation::kScatter;
  facts.elements = static_cast<std::uint64_t>(
      std::max<std::int64_t>(parts ? event.elementsOut : event.elementsIn, 0));
  facts.dtype = dtypeNamed(event.dtype);
  if (!event.groupName.empty() || !event.groupRanks.empty()) {
    facts.group = event.groupName + " " + event.groupRanks;
    facts.isDefault = event.groupDescription == "default_pg";
  }
  if (event.sequence && *event.sequence >= 0) {
    facts.sequence = static_cast<std::uint64_t>(*event.sequence);
  }
  if (event.bucket && *event.bucket >= 0 && *event.bucket < trace::kNoBucket) {
    facts.bucket = static_cast<std::uint16_t>(*event.bucket);
  }
  return facts;
}

}  // namespace

std::uint32_t KinetoSorter::thread(const KinetoEvent& event) {
  const auto [at, isNew] = threads_.try_emplace(event.process + "/" + event.thread,
                                                static_cast<std::uint32_t>(trace_.threads.size()));
  if (isNew) {
    trace_.threads.push_back(event.thread);
  }
  return at->second;
}

std::string KinetoSorter::take(KinetoEvent& event) {
  // Kineto writes spans as complete events ("X"); others are metadata, flows and counters.
  if (event.phase != "X") {
    return {};
  }
  if (!event.beginNs) {
    return "has no \"ts\"";
  }
  if (event.durationNs.value_or(0) < 0) {
    return "its \"dur\" is below 0";
  }
  if (event.durationNs.value_or(0) > kLongestNs || *event.beginNs < 0) {
    return "a time that is no time";
  }
  if (event.category == "Trace") {
    return {};  // the recording itself
  }
  const std::int64_t end = *event.beginNs + event.durationNs.value_or(0);
  // Also of events that are dropped below: the trace lasted at least from one to the other.
  trace_.firstNs = hasTime_ ? std::min(trace_.firstNs, *event.beginNs) : *event.beginNs;
  trace_.lastNs = hasTime_ ? std::max(trace_.lastNs, end) : end;
  hasTime_ = true;
  const std::string& category = event.category;
  if (category == "kernel") {
    takeKernel(event);
    return {};
  }
  // What starts a kernel: the correlation leads from here to it, and from its thread and time to
  // the call or the step.
  if (category == "cuda_runtime" || category == "cuda_driver" || category == "hip_runtime") {
    if (event.correlation) {
      trace_.launches.push_back({*event.correlation, *event.beginNs, thread(event)});
    }
    return {};
  }
  // Older builds write no category. The others (copies, memsets, functions of Python, annotations
  // repeated on the track of a device) are not kept.
  if (!category.empty() && category != "cpu_op" && category != "user_annotation") {
    return {};
  }
  return takeMark(event);
}

std::string KinetoSorter::takeMark(KinetoEvent& event) {
  const std::string_view name = event.name;
  constexpr std::string_view kStep = "ProfilerStep#";
  constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
  if (startsWith(name, kStep)) {
    const auto number = base::readNumber<std::uint32_t>(name.substr(kStep.size()));
    if (!number) {
      return "a ProfilerStep without a number";
    }
    takeOp(event, HostOpKind::kStep, *number);
  } else if (name == "DistributedDataParallel.forward") {
    takeOp(event, HostOpKind::kForward);
  } else if (startsWith(name, "Optimizer.step#")) {
    takeOp(event, HostOpKind::kOptimizer);
  } else if (startsWith(name, "enumerate(DataLoader)#")) {
    takeOp(event, HostOpKind::kData);
  } else if (startsWith(name, kEvaluate)) {
    takeOp(event, name.find("AccumulateGrad", kEvaluate.size()) != std::string_view::npos
                      ? HostOpKind::kGradient
                      : HostOpKind::kBackward);
  } else if (name == "torch::autograd::AccumulateGrad") {
    takeOp(event, HostOpKind::kAccumulate);
  } else if (name == "torch::distributed::reducer::mul_out") {
    takeOp(event, HostOpKind::kCopyIn);
  } else if (name == "torch.distributed.ddp.reducer::copy_bucket_to_grad") {
    takeOp(event, HostOpKind::kCopyOut);
  // Names of a run's own: what a script calls "forward" in a trace of its own is none of these.
  } else if (trace_.isExport && event.step) {
    const auto number = static_cast<std::uint32_t>(*event.step);
    if (name == "step") {
      takeOp(event, HostOpKind::kStep, number);
    } else if (name == "forward") {
      takeOp(event, HostOpKind::kOwnForward, number);
    } else if (name == "backward") {
      takeOp(event, HostOpKind::kOwnBackward, number);
    } else if (name == "optimizer") {
      takeOp(event, HostOpKind::kOwnOptimizer, number);
    } else if (name.find(':') != std::string_view::npos) {
      takeComm(event);
    }
  } else if (name == "record_param_comms" || startsWith(name, "c10d::") ||
             startsWith(name, "nccl:") || startsWith(name, "gloo:") || startsWith(name, "mpi:")) {
    takeComm(event);
  }
  return {};
}

void KinetoSorter::takeOp(const KinetoEvent& event, HostOpKind kind, std::uint32_t number) {
  HostOp& op = trace_.ops.emplace_back();
  op.kind = kind;
  op.thread = thread(event);
  op.beginNs = *event.beginNs;
  op.endNs = op.beginNs + event.durationNs.value_or(0);
  op.number = number;
  if (kind == HostOpKind::kAccumulate) {
    op.dtype = dtypeNamed(event.type);
    op.shape = op.dtype.empty() ? std::vector<std::int64_t>{} : event.shape;
  }
}

void KinetoSorter::takeKernel(const KinetoEvent& event) {
  Kernel& kernel = trace_.kernels.emplace_back();
  kernel.beginNs = *event.beginNs;
  kernel.endNs = kernel.beginNs + event.durationNs.value_or(0);
  kernel.correlation = event.correlation.value_or(-1);
  kernel.externalId = event.externalId.value_or(-1);
  kernel.stream = static_cast<std::int32_t>(event.stream.value_or(0));
  const std::string_view name = event.name;
  kernel.communicates = startsWith(name, "nccl");
  if (kernel.communicates) {
    kernel.facts = static_cast<std::uint32_t>(trace_.kernelFacts.size());
    CallFacts& facts = trace_.kernelFacts.emplace_back(factsOf(event));
    if (facts.operation == trace::Operation::kNone) {  // ncclDevKernel_AllReduce_Sum_f32_RING_LL
      // Between the first and the second underscore: "AllReduce".
      const auto from = name.find('_');
      const auto to = name.find_first_of("_(", from == std::string_view::npos ? from : from + 1);
      if (from != std::string_view::npos) {
        facts.operation = operationNamed(
            std::string(name.substr(from + 1, to == std::string_view::npos ? to : to - from - 1)));
      }
    }
  }
}

void KinetoSorter::takeComm(const KinetoEvent& event) {
  CommOp op;
  op.beginNs = *event.beginNs;
  op.endNs = op.beginNs + event.durationNs.value_or(0);
  op.externalId = event.externalId.value_or(-1);
  op.facts = factsOf(event);
  if (event.name == "record_param_comms") {
    op.layer = CommOp::Layer::kRecord;
    if (!event.collective.empty() && op.facts.operation == trace::Operation::kNone) {
      return;  // a wait, an init
    }
  } else {
    const auto colon = event.name.rfind(':');
    op.layer =
        startsWith(event.name, "c10d::") ? CommOp::Layer::kDispatcher : CommOp::Layer::kBackend;
    op.isGloo = op.layer == CommOp::Layer::kBackend && !startsWith(event.name, "nccl:");
    if (op.facts.operation == trace::Operation::kNone) {
      op.facts.operation = operationNamed(event.name.substr(colon + 1));
    }
    if (op.facts.operation == trace::Operation::kNone) {
      return;  // c10d::functions of other kinds
    }
    // c10d's dispatcher begins with the outputs, which of these alone are what is sent.
    const bool outputsFirst = op.layer == CommOp::Layer::kDispatcher &&
                              op.facts.operation != trace::Operation::kAllreduce &&
                              op.facts.operation != trace::Operation::kBroadcast;
    if (op.facts.elements == 0 && !outputsFirst) {
      op.facts.elements = event.elements;
      op.facts.dtype = dtypeNamed(event.type);
    }
  }
  op.thread = thread(event);
  trace_.comms.push_back(std::move(op));
}

}  // namespace lockstep::imports
