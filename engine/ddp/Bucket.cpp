#include "engine/ddp/Bucket.h"

#include <ATen/ATen.h>

#include "engine/ddp/TorchCompat.h"

namespace lockstep::ddp {

namespace {

at::Tensor asReals(const at::Tensor& tensor) {
  compat::UntrackedViews untracked;
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}

}  // namespace

bool sameMemory(const at::Tensor& a, const at::Tensor& b) {
  return a.is_alias_of(b) && a.storage_offset() == b.storage_offset() && a.strides() == b.strides();
}

Bucket::Bucket(const buckets::BucketPlan::Bucket& plan, const std::vector<NamedTensor>& parameters,
               process_group::ProcessGroup& group, at::ScalarType type, bool sparse)
    : pending(plan.parameters.size()),
      indices_(plan.parameters),
      sparse_(sparse),
      bytes_(plan.bytes) {
  std::int64_t numel = 0;
  for (const std::uint32_t index : indices_) {
    const at::Tensor& parameter = parameters.at(index).tensor;
    parameters_.push_back(parameter);
    offsets_.push_back(numel);
    lengths_.push_back(parameter.numel());
    numel += parameter.numel();
  }
  // Its gradient has as many rows as the batch used: there is no size to take memory for.
  if (sparse_) {
    return;
  }
  compat::UntrackedViews untracked;
  const std::int64_t bytes = numel * static_cast<std::int64_t>(c10::elementSize(type));
  const at::Device device = parameters_.front().device();
  // A backend may give memory that its peers see, and then needs no copy of it to send it.
  const at::Tensor memory = device.is_cpu()
                                ? group.allocate(bytes)
                                : at::empty({bytes}, at::TensorOptions(at::kByte).device(device));
  // Not the plan's: that counts the parameters' own dtypes, and mixed precision may halve them.
  bytes_ = memory.nbytes();
  wire_ = memory.view(c10::toRealValueType(type));
  for (std::size_t slot = 0; slot < size(); ++slot) {
    slices_.push_back(sliceOf(wire_, slot));
  }
}

at::Tensor Bucket::sliceOf(const at::Tensor& wire, std::size_t slot) const {
  compat::UntrackedViews untracked;
  const at::Tensor& parameter = parameters_[slot];
  at::Tensor flat = wire;
  // A hook's result may begin anywhere in its storage, and complex numbers only at even places.
  if (parameter.is_complex()) {
    flat =
        at::view_as_complex((wire.storage_offset() % 2 == 0 ? wire : wire.clone()).view({-1, 2}));
  }
  // c10d's layout contract: in the parameter's strides the copy is one run over memory, and an
  // optimizer later meets a gradient that lies as the parameter does.
  if (parameter.is_non_overlapping_and_dense()) {
    return flat.as_strided(parameter.sizes(), parameter.strides(),
                           flat.storage_offset() + offsets_[slot]);
  }
  return flat.narrow(0, offsets_[slot], lengths_[slot]).view(parameter.sizes());
}

std::unique_ptr<hooks::GradBucket> Bucket::forHook(std::size_t index, std::size_t count,
                                                   std::uint32_t step,
                                                   const at::Tensor& wire,
                                                   const hooks::BucketFacts& facts) const {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<at::Tensor> parameters;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> lengths;
  for (std::size_t slot = 0; slot < size(); ++slot) {
    const std::int64_t reals = parameters_[slot].is_complex() ? 2 : 1;
    parameters.push_back(asReals(parameters_[slot]));
    shapes.push_back(parameters.back().sizes().vec());
    offsets.push_back(offsets_[slot] * reals);
    lengths.push_back(lengths_[slot] * reals);
  }
  return std::make_unique<hooks::GradBucket>(index, count, step, wire, std::move(offsets),
                                             std::move(lengths), std::move(shapes),
                                             std::move(parameters), indices_, facts);
}

}  // namespace lockstep::ddp
