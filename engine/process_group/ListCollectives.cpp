#include "engine/process_group/ListCollectives.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/process_group/Arguments.h"
#include "engine/process_group/Call.h"
#include "engine/process_group/JoinedWork.h"

namespace lockstep::process_group {
namespace {

// What a joined operation is called in errors; its parts carry their own.
CommError::Where whereOf(const ProcessGroup& group, trace::Operation operation,
                         const CallOptions& options) {
  CommError::Where where;
  where.group = group.groupName();
  where.rank = group.rank();
  where.operation = operation;
  where.sequence = group.sequenceNumber();
  where.bucket = options.bucket;
  return where;
}

at::Tensor flatten(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard noGrad;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& tensor : tensors) {
    // Without autograd: the pieces are data on their way, not part of the model's graph.
    flat.push_back(tensor.detach().reshape({-1}));
  }
  return at::cat(flat);
}

at::Tensor emptyLike(const std::vector<at::Tensor>& tensors) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) {
    elements += tensor.numel();
  }
  return at::empty({elements}, tensors.front().options().requires_grad(false));
}

void unflatten(const at::Tensor& flat, const std::vector<at::Tensor>& tensors) {
  std::int64_t begin = 0;
  for (const at::Tensor& tensor : tensors) {
    tensor.detach().copy_(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
}

std::vector<std::int64_t> sizesOf(const std::vector<at::Tensor>& tensors) {
  std::vector<std::int64_t> sizes;
  for (const at::Tensor& tensor : tensors) {
    sizes.push_back(tensor.numel());
  }
  return sizes;
}

}  // namespace

ProcessGroup::WorkPtr alltoallLists(ProcessGroup& group, std::vector<at::Tensor> outputs,
                                    std::vector<at::Tensor> inputs, const CallOptions& options) {
  const Arguments arguments(group.backendName(), trace::Operation::kAlltoall, group.size(), false);
  const auto check = [&](const std::vector<at::Tensor>& list, const std::string& parameter) {
    if (list.size() != static_cast<std::size_t>(group.size())) {
      arguments.refuse(fmt::format("{} has {} tensors; a group of {} ranks needs {}", parameter,
                                   list.size(), group.size(), group.size()));
    }
    arguments.tensors(list, parameter);
    arguments.sameDtype(list, parameter);
  };
  check(outputs, "outputs");
  check(inputs, "inputs");
  // Received flat and copied out at the end (unflatten): the lists' tensors may lie anywhere, and
  // one alltoall is one operation on the wire.
  const at::Tensor received = emptyLike(outputs);
  const auto work =
      group.alltoall(received, flatten(inputs), sizesOf(outputs), sizesOf(inputs), options);
  return joinWorks({work}, whereOf(group, trace::Operation::kAlltoall, options), outputs,
                   timeLimit(options, group),
                   [received, outputs] { unflatten(received, outputs); });
}

ProcessGroup::WorkPtr allgatherCoalesced(ProcessGroup& group,
                                         std::vector<std::vector<at::Tensor>> outputs,
                                         std::vector<at::Tensor> inputs,
                                         const CallOptions& options) {
  const Arguments arguments(group.backendName(), trace::Operation::kAllgather, group.size(),
                            false);
  arguments.tensors(inputs, "inputs");
  if (outputs.size() != static_cast<std::size_t>(group.size())) {
    arguments.refuse(fmt::format("outputs has {} lists; a group of {} ranks needs {}",
                                 outputs.size(), group.size(), group.size()));
  }
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    const std::string parameter = fmt::format("outputs[{}]", rank);
    arguments.tensors(outputs[rank], parameter);
    if (outputs[rank].size() != inputs.size()) {
      arguments.refuse(fmt::format("{} has {} tensors and inputs has {}", parameter,
                                   outputs[rank].size(), inputs.size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (outputs[rank][i].scalar_type() != inputs[i].scalar_type() ||
          outputs[rank][i].sizes() != inputs[i].sizes()) {
        arguments.refuse(
            fmt::format("{}[{}] is not like inputs[{}] in dtype and shape", parameter, i, i));
      }
    }
  }

  // In order of appearance, which is the same on all ranks, since their inputs are alike.
  std::vector<c10::ScalarType> dtypes;
  for (const at::Tensor& input : inputs) {
    if (std::find(dtypes.begin(), dtypes.end(), input.scalar_type()) == dtypes.end()) {
      dtypes.push_back(input.scalar_type());
    }
  }
  // For each dtype and rank: what was received, and the tensors that it belongs into.
  std::vector<std::pair<at::Tensor, std::vector<at::Tensor>>> pieces;
  std::vector<ProcessGroup::WorkPtr> works;
  for (const c10::ScalarType dtype : dtypes) {
    const auto ofDtype = [&](const std::vector<at::Tensor>& list) {
      std::vector<at::Tensor> chosen;
      std::copy_if(list.begin(), list.end(), std::back_inserter(chosen),
                   [&](const at::Tensor& tensor) { return tensor.scalar_type() == dtype; });
      return chosen;
    };
    std::vector<at::Tensor> received;
    for (const auto& list : outputs) {
      std::vector<at::Tensor> chosen = ofDtype(list);
      received.push_back(emptyLike(chosen));
      pieces.emplace_back(received.back(), std::move(chosen));
    }
    works.push_back(group.allgather(received, flatten(ofDtype(inputs)), options));
  }
  std::vector<at::Tensor> all;
  for (const auto& list : outputs) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return joinWorks(std::move(works), whereOf(group, trace::Operation::kAllgather, options),
                   std::move(all), timeLimit(options, group), [pieces = std::move(pieces)] {
                     for (const auto& [flat, tensors] : pieces) {
                       unflatten(flat, tensors);
                     }
                   });
}

}  // namespace lockstep::process_group
