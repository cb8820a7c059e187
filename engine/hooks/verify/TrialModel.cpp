#include "engine/hooks/verify/TrialModel.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <array>

namespace lockstep::hooks {

namespace {

struct Shape {
  const char* name;
  std::vector<std::int64_t> sizes;
};

const std::array<Shape, 7>& shapes() {
  static const std::array<Shape, 7> kShapes{{{"convolution.weight", {8, 3, 3, 3}},
                                             {"convolution.bias", {8}},
                                             {"wide.weight", {384, 256}},
                                             {"wide.bias", {384}},
                                             {"odd.weight", {33, 65}},
                                             {"odd.bias", {33}},
                                             {"scale", {}}}};
  return kShapes;
}

at::Tensor normal(at::IntArrayRef sizes, std::uint64_t seed) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed));
}

constexpr std::uint64_t kRanks = 64;  // more than there are, so that no two seeds are equal

// Every rank can compute the gradients of all ranks, and so the mean, without communicating.
std::uint64_t seedOf(std::uint32_t id, int rank, std::uint32_t step) {
  return ((step + 1ULL) * kRanks + static_cast<std::uint64_t>(rank)) * shapes().size() + id;
}

}  // namespace

TrialModel::TrialModel(at::ScalarType dtype) {
  for (const Shape& shape : shapes()) {
    names_.emplace_back(shape.name);
    parameters_.push_back(normal(shape.sizes, parameters_.size()).to(dtype));
  }
}

std::vector<at::Tensor> TrialModel::copies() const {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& parameter : parameters_) {
    copies.push_back(parameter.detach().clone());
  }
  return copies;
}

void TrialModel::setTo(const std::vector<at::Tensor>& values) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].copy_(values.at(i));
  }
}

const std::vector<std::vector<std::uint32_t>>& TrialModel::buckets(std::uint32_t layout) {
  // As from DDP, layers reversed; the rebuilt ones mix parameters of all, so that state which a
  // hook keys by bucket and not by parameter shows.
  static const std::vector<std::vector<std::uint32_t>> kFirst{{6, 5, 4}, {3, 2}, {1, 0}};
  static const std::vector<std::vector<std::uint32_t>> kRebuilt{{4, 6, 3}, {0, 2}, {5, 1}};
  return layout == 0 ? kFirst : kRebuilt;
}

at::Tensor TrialModel::gradients(const std::vector<std::uint32_t>& bucket, int rank,
                                 std::uint32_t step) const {
  std::vector<at::Tensor> pieces;
  for (const std::uint32_t id : bucket) {
    pieces.push_back(normal({parameters_[id].numel()}, seedOf(id, rank, step)));
  }
  return at::cat(pieces).to(parameters_[0].scalar_type());
}

at::Tensor TrialModel::mean(const std::vector<std::uint32_t>& bucket, int ranks,
                            std::uint32_t step) const {
  at::Tensor sum = gradients(bucket, 0, step).to(at::kDouble);
  for (int rank = 1; rank < ranks; ++rank) {
    sum += gradients(bucket, rank, step);
  }
  return sum / ranks;
}

TrialModel::Places TrialModel::places(const std::vector<std::uint32_t>& bucket) const {
  Places places;
  std::int64_t offset = 0;
  for (const std::uint32_t id : bucket) {
    places.offsets.push_back(offset);
    places.lengths.push_back(parameters_[id].numel());
    places.shapes.push_back(parameters_[id].sizes().vec());
    offset += parameters_[id].numel();
  }
  return places;
}

}  // namespace lockstep::hooks
