#include "engine/train/Fingerprint.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/CountSketch.h"
#include "engine/base/Xxh64.h"
#include "engine/ddp/TensorText.h"
#include "engine/trace/Event.h"

namespace lockstep::train {
namespace {

constexpr std::size_t kPiece = 4096;  // elements, a part of the first-level cache

/// Reads each piece from memory once: the second look finds it in the cache.
template <typename Real>
double readOnce(const at::Tensor& values, base::Xxh64& hash, base::CountSketch& sketch) {
  const Real* data = values.data_ptr<Real>();
  const auto count = static_cast<std::size_t>(values.numel());
  double squares = 0;
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t piece = std::min(kPiece, count - at);
    hash.update(data + at, piece * sizeof(Real));
    squares += sketch.add(data + at, piece);
  }
  return squares;
}

/// Hashes the bits as they are; the sketch is of reals of 32 or 64 bits.
double add(const at::Tensor& parameter, base::Xxh64& hash, base::CountSketch& sketch) {
  at::Tensor values = parameter.detach().cpu().contiguous();
  if (values.is_complex()) {
    values = at::view_as_real(values);
  }
  if (values.scalar_type() == at::kFloat) {
    return readOnce<float>(values, hash, sketch);
  }
  if (values.scalar_type() == at::kDouble) {
    return readOnce<double>(values, hash, sketch);
  }
  // Other dtypes are hashed as they are and sketched as float, which holds every value of theirs
  // but large whole numbers.
  hash.update(values.data_ptr(), values.nbytes());
  const at::Tensor wide = values.to(at::kFloat);
  return sketch.add(wide.data_ptr<float>(), static_cast<std::size_t>(wide.numel()));
}

}  // namespace

trace::FingerprintMessage fingerprintOf(const std::vector<ddp::NamedTensor>& parameters,
                                        std::uint32_t step) {
  at::NoGradGuard noGrad;
  trace::FingerprintMessage message;
  message.step = step;
  base::CountSketch sketch;
  for (const ddp::NamedTensor& parameter : parameters) {
    base::Xxh64 hash;
    message.norms.push_back(std::sqrt(add(parameter.tensor, hash, sketch)));
    message.hashes.push_back(hash.digest());
  }
  message.sketch = sketch.counters();
  return message;
}

Fingerprint::Fingerprint(std::vector<ddp::NamedTensor> parameters, std::int64_t every,
                         trace::Tracer& tracer, trace::Lane& lane)
    : parameters_(std::move(parameters)), every_(every), tracer_(tracer), lane_(lane) {
  for (const ddp::NamedTensor& parameter : parameters_) {
    bytes_ += parameter.tensor.nbytes();
  }
}

void Fingerprint::before(std::uint32_t step) {
  if (every_ > 0 && step % every_ == 0) {
    sample(step);
  }
}

void Fingerprint::afterAll(std::uint32_t steps) {
  if (every_ > 0) {
    sample(steps);
  }
}

void Fingerprint::sample(std::uint32_t step) {
  // Nobody would read it: hashing all parameters is not free.
  if (!lane_.enabled()) {
    return;
  }
  const std::uint64_t startTicks = base::ticks();
  tracer_.send(trace::toJson(fingerprintOf(parameters_, step)));
  lane_.span(trace::EventKind::kFingerprint, startTicks, step, trace::kNoBucket, bytes_);
}

std::string parameterHash(const torch::nn::Module& model) {
  base::Xxh64 hash;
  for (const auto& parameter : model.named_parameters()) {
    const at::Tensor values = parameter.value().detach().cpu().contiguous();
    const std::string dtype = ddp::dtypeName(values.scalar_type());
    hash.update(parameter.key().c_str(), parameter.key().size() + 1);
    hash.update(dtype.c_str(), dtype.size() + 1);
    const std::int64_t dimensions = values.dim();
    hash.update(&dimensions, sizeof dimensions);
    hash.update(values.sizes().data(), values.sizes().size() * sizeof(std::int64_t));
    hash.update(values.data_ptr(), values.nbytes());
  }
  return fmt::format("{:016x}", hash.digest());
}

}  // namespace lockstep::train
