#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <lockstep/comm_hook.hpp>

#include "plugins/feedback/PerParameter.h"
#include "plugins/kernels/Kernels.h"

namespace lockstep::plugin {

// Parameters that hooks with error feedback share.

inline constexpr Description::Number kDensity{.key = "density",
                                              .label = "Density",
                                              .help = "part of the gradients that is sent",
                                              .initial = 0.01,
                                              .min = 1e-6,
                                              .max = 1,
                                              .flags = LOCKSTEP_PARAM_LOG_SCALE |
                                                       LOCKSTEP_PARAM_LIVE};
inline constexpr Description::Switch kErrorFeedback{
    .key = "error_feedback",
    .label = "Error feedback",
    .help = "adds what was left out to the next gradients",
    .initial = true};

/// How many of `size` gradients a density stands for: at least one.
inline std::size_t countFor(double density, std::size_t size) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(density * static_cast<double>(size))));
}

/// Base of hooks that keep what compression leaves out of a rank's gradients, its residual, to add
/// it to the next ones. All that is lost is sent sooner or later:
/// sum of updates + mean of residuals = sum of mean gradients.
class FeedbackHook : public Hook {
 public:
  static constexpr std::uint32_t kStateSchema = 1;
  void save(Writer& out) {
    saveWorld(out, host());
    residuals_.save(out);
  }
  void load(Reader& in, std::uint32_t, int) {
    requireSameWorld(in, host());
    residuals_.load(in);
  }

 protected:
  FeedbackHook(Host host, bool feeds) : Hook(host), feeds_(feeds) {}

  [[nodiscard]] bool feeds() const { return feeds_; }

  /// The residual of one parameter, zeros at first.
  std::vector<float>& residual(std::uint32_t id, std::size_t size) {
    return residuals_.of(id, size);
  }

  /// Adds the residuals to the gradients of a bucket, if it feeds back.
  void addRest(const Bucket& bucket) {
    for (std::uint32_t i = 0; feeds_ && i < bucket.parameters(); ++i) {
      const auto gradient = bucket.gradient(i);
      const auto& kept = residual(bucket.id(i), gradient.size());
      kernels::kernels().add(gradient.data(), kept.data(), gradient.size());
    }
  }

  /// Keeps what now stands in the bucket, if it feeds back.
  void keepRest(const Bucket& bucket) {
    for (std::uint32_t i = 0; feeds_ && i < bucket.parameters(); ++i) {
      const auto gradient = bucket.gradient(i);
      std::copy(gradient.begin(), gradient.end(), residual(bucket.id(i), gradient.size()).begin());
    }
  }

 private:
  const bool feeds_;
  PerParameter residuals_;
};

}  // namespace lockstep::plugin
