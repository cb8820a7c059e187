#include "engine/data_parallel/Coalesce.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "engine/buckets/Assign.h"

namespace lockstep::data_parallel {

namespace {

std::uint64_t bytesOf(const at::Tensor& tensor) {
  return tensor.is_sparse() ? tensor._indices().nbytes() + tensor._values().nbytes()
                            : tensor.nbytes();
}

/// The sum of one gradient over the replicas that have it.
at::Tensor sumAlone(const std::vector<at::Tensor>& parts, const std::vector<Device>& devices,
                    std::uint64_t& bytes) {
  // A dense and a sparse part have no sparse sum: then all become dense.
  bool anyDense = false;
  for (const at::Tensor& part : parts) {
    anyDense |= part.defined() && !part.is_sparse();
  }
  at::Tensor sum;
  for (std::size_t replica = 0; replica < parts.size(); ++replica) {
    if (!parts[replica].defined()) {
      continue;
    }
    const at::Tensor part =
        anyDense && parts[replica].is_sparse() ? parts[replica].to_dense() : parts[replica];
    const at::Tensor here = copyTo(part, devices[replica], devices.front(), bytes);
    sum = sum.defined() ? sum + here : here;
  }
  return sum;
}

}  // namespace

at::Tensor copyTo(const at::Tensor& tensor, const Device& from, const Device& to,
                  std::uint64_t& bytes) {
  if (to.isSameAs(from) && tensor.device() == to.place) {
    return tensor;
  }
  bytes += bytesOf(tensor);
  return tensor.to(to.place, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}

buckets::BucketPlan groupForCopy(const std::vector<at::Tensor>& tensors, std::uint64_t limitBytes) {
  std::vector<buckets::TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    specs.push_back({tensor.nbytes(), c10::toString(tensor.scalar_type()), tensor.device().str()});
  }
  return buckets::assignBuckets(specs, {limitBytes});
}

std::vector<at::Tensor> reduceAddCoalesced(const std::vector<std::vector<at::Tensor>>& gradients,
                                           const std::vector<Device>& devices,
                                           std::uint64_t limitBytes, std::uint64_t& bytes) {
  // Slices of a sum become plain tensors, no views in autograd's sense: zero_grad() may detach
  // a gradient in place, which fails on a view.
  at::AutoDispatchBelowADInplaceOrView untracked;
  const std::size_t count = gradients.front().size();
  std::vector<at::Tensor> sums(count);
  std::vector<std::size_t> whole;  // dense on every replica: what can travel in groups
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<at::Tensor> parts;
    bool groups = gradients.size() > 1;
    for (const auto& replica : gradients) {
      parts.push_back(replica[k]);
      groups = groups && replica[k].defined() && !replica[k].is_sparse();
    }
    if (groups) {
      whole.push_back(k);
    } else {
      sums[k] = sumAlone(parts, devices, bytes);
    }
  }
  std::vector<at::Tensor> first;
  for (const std::size_t k : whole) {
    first.push_back(gradients.front()[k]);
  }
  for (const auto& group : groupForCopy(first, limitBytes).buckets) {
    at::Tensor sum;
    for (std::size_t replica = 0; replica < gradients.size(); ++replica) {
      std::vector<at::Tensor> parts;
      for (const std::uint32_t i : group.parameters) {
        parts.push_back(gradients[replica][whole[i]].reshape({-1}));
      }
      // One copy for the group: to start one costs more than to move small gradients. Replica 0's
      // is made by cat(), so that the others can be added to it in place.
      const at::Tensor flat = copyTo(at::cat(parts), devices[replica], devices.front(), bytes);
      if (sum.defined()) {
        sum.add_(flat);
      } else {
        sum = flat;
      }
    }
    std::int64_t offset = 0;
    for (const std::uint32_t i : group.parameters) {
      const at::Tensor& like = first[i];
      sums[whole[i]] = sum.narrow(0, offset, like.numel()).view(like.sizes());
      offset += like.numel();
    }
  }
  return sums;
}

}  // namespace lockstep::data_parallel
