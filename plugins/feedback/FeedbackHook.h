#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <lockstep/comm_hook.hpp>

#include "plugins/arithmetic/Arithmetic.h"
#include "plugins/feedback/PerParameter.h"

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

// Note [Error feedback]
// A rank sends a compressed C(g + e) of its gradients g and its residual e, which is 0 at first,
// and keeps e' = g + e - C(g + e). With the larger of two numbers alone:
//
//    step   g        g + e    sent     e'
//    1      (3, 2)   (3, 2)   (3, 0)   (0, 2)
//    2      (3, 2)   (3, 4)   (0, 4)   (3, 0)
//    3      (3, 2)   (6, 2)   (6, 0)   (0, 2)
//    sum    (9, 6)            (9, 4)
//
// Nothing is lost: what has come, (9, 6), is what was sent and what is still kept. A small gradient
// comes late, and not never. Residuals are kept by parameter, since a bucket's numbers are others
// once the buckets have been rebuilt.

/// Base of hooks that keep what compression leaves out of a rank's gradients, its residual, to add
/// it to the next ones. All that is lost is sent sooner or later:
/// sum of updates + mean of residuals = sum of mean gradients.
class FeedbackHook : public Hook {
 public:
  static constexpr std::uint32_t kStateSchema = 1;
  void save(Writer& out) {
    saveWorld(out, host());
    for (const Kept& kept : kept_) {
      kept.numbers->save(out);
    }
  }
  void load(Reader& in, std::uint32_t schema, int) {
    requireSameWorld(in, host());
    for (const Kept& kept : kept_) {
      if (schema >= kept.since) {
        kept.numbers->load(in);
      }
    }
  }

 protected:
  FeedbackHook(Host host, bool feeds) : Hook(host), feeds_(feeds) {}

  /// Saves and loads these members, too, behind those before; a state of a schema below `since`
  /// lacks them.
  void alsoKeep(PerParameter& numbers, std::uint32_t since = 1) {
    kept_.push_back({&numbers, since});
  }

  [[nodiscard]] bool feeds() const { return feeds_; }

  /// The residual of one parameter, zeros at first.
  std::vector<float>& residual(std::uint32_t id, std::size_t size) {
    return residuals_.of(id, size);
  }

  /// The same where the gradients lie.
  lockstep_buffer residual(std::uint32_t id, const lockstep_buffer& gradient,
                           const Arithmetic& arithmetic) {
    const auto& math = arithmetic.math();
    return residuals_.of(id, static_cast<std::size_t>(gradient.numel), gradient,
                         math ? &*math : nullptr);
  }

  /// Adds the residuals to the gradients of a bucket, if it feeds back.
  void addRest(const Bucket& bucket) {
    const Arithmetic arithmetic(host(), bucket.buffer());
    for (std::uint32_t i = 0; feeds_ && i < bucket.parameters(); ++i) {
      const lockstep_buffer gradient = gradientOf(bucket, i);
      arithmetic.addScaled(gradient, residual(bucket.id(i), gradient, arithmetic), 1);
    }
  }

  /// Keeps what now stands in the bucket, if it feeds back.
  void keepRest(const Bucket& bucket) {
    const Arithmetic arithmetic(host(), bucket.buffer());
    for (std::uint32_t i = 0; feeds_ && i < bucket.parameters(); ++i) {
      const lockstep_buffer gradient = gradientOf(bucket, i);
      arithmetic.copy(gradient, residual(bucket.id(i), gradient, arithmetic));
    }
  }

 private:
  struct Kept {
    PerParameter* numbers;
    std::uint32_t since;
  };

  const bool feeds_;
  PerParameter residuals_;
  std::vector<Kept> kept_{{&residuals_, 1}};
};

/// Base of those that send a part of the gradients, kDensity.
class DensityHook : public FeedbackHook {
 public:
  void set(const Value& density) { density_ = density.real(); }

 protected:
  DensityHook(Host host, const Values& values, bool feeds)
      : FeedbackHook(host, feeds), density_(values["density"].real()) {}

  [[nodiscard]] double density() const { return density_; }

 private:
  double density_;
};

}  // namespace lockstep::plugin
