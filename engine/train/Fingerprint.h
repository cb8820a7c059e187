#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ddp/ModelState.h"
#include "engine/trace/Messages.h"
#include "engine/trace/Tracer.h"

namespace torch::nn {
class Module;
}

namespace lockstep::train {

/// Returns the hashes, norms and sketch of parameters, each read once, in the order of its
/// elements.
trace::FingerprintMessage fingerprintOf(const std::vector<ddp::NamedTensor>& parameters,
                                        std::uint32_t step);

/// Tells the recorder now and then what this rank's parameters are, so that whoever reads the run
/// can compare the ranks. Communicates nothing; each sample is a kFingerprint span. [step-thread]
class Fingerprint {
 public:
  /// `parameters`: those that are reduced, by index. `every`: steps from one sample to the next; 0:
  /// there is none.
  /// Tracer and lane outlive this.
  Fingerprint(std::vector<ddp::NamedTensor> parameters, std::int64_t every, trace::Tracer& tracer,
              trace::Lane& lane);

  /// Before the forward of `step`: samples when it is time.
  void before(std::uint32_t step);

  /// After the last of `steps` steps: samples what the run ends with.
  void afterAll(std::uint32_t steps);

 private:
  void sample(std::uint32_t step);

  const std::vector<ddp::NamedTensor> parameters_;
  const std::int64_t every_;
  trace::Tracer& tracer_;
  trace::Lane& lane_;
  std::uint64_t bytes_ = 0;
};

/// Returns 16 hex digits, XXH64 over every parameter in registration order: name, a zero byte,
/// dtype ("float32"), a zero byte, number of dimensions and each size as little-endian int64,
/// then the elements row-major. Equal on all ranks exactly when the replicas are equal, bit for
/// bit.
std::string parameterHash(const torch::nn::Module& model);

}  // namespace lockstep::train
