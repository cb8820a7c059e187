#include "engine/ddp/Bucket.h"

#include <ATen/ATen.h>

#include "engine/ddp/TorchCompat.h"

namespace lockstep::ddp {

Bucket::Bucket(const buckets::BucketPlan::Bucket& plan, const std::vector<NamedTensor>& parameters,
               process_group::ProcessGroup& group)
    : pending(plan.parameters.size()), indices_(plan.parameters) {
  std::int64_t numel = 0;
  for (const std::uint32_t index : indices_) {
    const at::Tensor& parameter = parameters.at(index).tensor;
    parameters_.push_back(parameter);
    offsets_.push_back(numel);
    lengths_.push_back(parameter.numel());
    numel += parameter.numel();
  }
  compat::UntrackedViews untracked;
  const at::ScalarType type = parameters_.front().scalar_type();
  buffer_ = group.allocate(numel * static_cast<std::int64_t>(c10::elementSize(type))).view(type);
  for (std::size_t slot = 0; slot < size(); ++slot) {
    slices_.push_back(sliceOf(buffer_, slot));
  }
}

at::Tensor Bucket::sliceOf(const at::Tensor& flat, std::size_t slot) const {
  compat::UntrackedViews untracked;
  const at::Tensor& parameter = parameters_[slot];
  if (parameter.is_non_overlapping_and_dense()) {
    return flat.as_strided(parameter.sizes(), parameter.strides(),
                           flat.storage_offset() + offsets_[slot]);
  }
  return flat.narrow(0, offsets_[slot], lengths_[slot]).view(parameter.sizes());
}

std::unique_ptr<hooks::GradBucket> Bucket::forHook(std::size_t index, std::size_t count,
                                                   std::uint32_t step) const {
  std::vector<std::vector<std::int64_t>> shapes;
  shapes.reserve(size());
  for (const at::Tensor& parameter : parameters_) {
    shapes.push_back(parameter.sizes().vec());
  }
  return std::make_unique<hooks::GradBucket>(index, count, step, buffer_, offsets_, lengths_,
                                             std::move(shapes), parameters_, indices_);
}

}  // namespace lockstep::ddp
