#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "plugins/feedback/FeedbackHook.h"
#include "plugins/selection/Largest.h"
#include "plugins/selection/SparseMessage.h"

using namespace lockstep::plugin;
using lockstep::kernels::kernels;

namespace {

constexpr int kAdaptations = 10;
constexpr int kWarmupStages = 5;

/// Deep Gradient Compression (Lin, Han, Mao, Wang, Dally, ICLR 2018): each rank keeps the momentum
/// m and accumulates it in v; the largest |v| are sent and cleared, and the momentum with them.
class Dgc : public DensityHook {
 public:
  static Description description() {
    return Description(
               "dgc", "deep gradient compression", "1.0",
               "Sends the largest accumulated gradients alone; momentum is kept by each rank, "
               "before compression.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .real(sparse())
        .real("momentum", "Momentum", {.initial = 0.9, .min = 0, .max = 0.9999},
              "in place of the optimizer's, which must be 0")
        .boolean({.key = "nesterov",
                  .label = "Nesterov",
                  .help = "Nesterov's momentum",
                  .initial = false})
        .boolean({.key = "masking",
                  .label = "Masking",
                  .help = "forgets the momentum of what is sent, so that stale gradients do "
                          "not carry on",
                  .initial = true})
        .real("clip", "Clip", {.initial = 0, .min = 0, .max = 1e6},
              "largest norm of a parameter's gradient over all ranks; each rank clips "
              "at this divided by the root of their number; 0: never")
        .integer("warmup", "Warm-up", {.initial = 0, .min = 0, .max = 1e9},
                 "iterations in which the density falls, in five equal stages");
  }

  Dgc(Host host, const Values& values)
      : DensityHook(host, values, true),
        momentum_(static_cast<float>(values["momentum"].real())),
        nesterov_(values["nesterov"].boolean()),
        masks_(values["masking"].boolean()),
        clip_(values["clip"].real() / std::sqrt(static_cast<double>(host.size()))),
        warmup_(values["warmup"].count()) {
    alsoKeep(momenta_);
  }

  void configure(const lockstep_optimizer_info& optimizer) const {
    if (momentum_ > 0 && (optimizer.kind != LOCKSTEP_SGD || optimizer.momentum != 0)) {
      throw Error(LOCKSTEP_E_UNSUPPORTED,
                  "DGC keeps the momentum itself: choose the optimizer sgd with momentum 0");
    }
  }

  void run(Run run, Bucket bucket) {
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      accumulate(bucket.id(i), bucket.gradient(i));
    }
    const auto flat = bucket.flat();
    const std::size_t count = countFor(densityIn(bucket.step()), flat.size());
    const auto chosen = choose(flat, count);
    // Of what is sent now the momentum would send more in the steps to come, in a direction that is
    // as old as its gradients, which may have waited for hundreds of steps.
    if (masks_ && momentum_ > 0) {
      mask(bucket, chosen);
    }
    const SparseMessage message(run, bucket, chosen, count);
    keepRest(bucket);
    run.counter("kept", static_cast<double>(chosen.size()));
    message.exchange(run, bucket);
  }

 private:
  static Description::Number sparse() {
    Description::Number number = kDensity;
    number.initial = 0.001;
    return number;
  }

  /// m = mu m + g, v += m; with Nesterov m = mu (m + g), v += m + g. v goes into the bucket.
  void accumulate(std::uint32_t id, std::span<float> gradient) {
    const std::size_t size = gradient.size();
    clip(gradient);
    auto& v = residual(id, size);
    if (momentum_ > 0) {
      auto& m = momenta_.of(id, size);
      if (nesterov_) {
        kernels().add(m.data(), gradient.data(), size);
        kernels().scale(m.data(), momentum_, size);
        kernels().add(v.data(), gradient.data(), size);
      } else {
        kernels().scale(m.data(), momentum_, size);
        kernels().add(m.data(), gradient.data(), size);
      }
      kernels().add(v.data(), m.data(), size);
    } else {
      kernels().add(v.data(), gradient.data(), size);
    }
    std::copy(v.begin(), v.end(), gradient.begin());
  }

  void clip(std::span<float> gradient) const {
    if (clip_ == 0) {
      return;
    }
    const double norm = std::sqrt(kernels().dot(gradient.data(), gradient.data(), gradient.size()));
    if (norm > clip_) {
      kernels().scale(gradient.data(), static_cast<float>(clip_ / norm), gradient.size());
    }
  }

  /// Falls geometrically: for 0.001 it is 0.25, 0.063, 0.016, 0.004, 0.001.
  [[nodiscard]] double densityIn(std::uint64_t step) const {
    if (step >= warmup_) {
      return density();
    }
    const auto stage = static_cast<double>(step * kWarmupStages / warmup_ + 1);
    return std::pow(density(), stage / kWarmupStages);
  }

  /// At most `count` of the largest: those above a threshold that a sample suggests, which is then
  /// adapted until it lets through about as many, since sorting all would cost more than it saves.
  static std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t count) {
    if (count == values.size()) {
      return largest(values, count);
    }
    float threshold = MagnitudeSample(values).reachedBy(count);
    float generous = 0;  // the last threshold that let enough through; 0 does
    const auto wanted = static_cast<double>(count);
    bool fits = false;
    for (int i = 0; i < kAdaptations && threshold > 0 && !fits; ++i) {
      const auto found =
          static_cast<double>(kernels().countAtLeast(values.data(), values.size(), threshold));
      fits = found >= 0.8 * wanted && found <= 1.3 * wanted;
      if (!fits) {
        generous = found > wanted ? threshold : generous;
        threshold *= found > wanted ? 1.3F : 0.8F;
      }
    }
    threshold = fits ? threshold : generous;
    return largestOf(values, reaching(values, threshold, count + count / 3), count);
  }

  void mask(const Bucket& bucket, const std::vector<std::uint32_t>& chosen) {
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      auto& m = momenta_.of(bucket.id(i), static_cast<std::size_t>(bucket.length(i)));
      const auto first = static_cast<std::uint32_t>(bucket.offset(i));
      auto at = std::lower_bound(chosen.begin(), chosen.end(), first);
      for (; at != chosen.end() && *at - first < m.size(); ++at) {
        m[*at - first] = 0;
      }
    }
  }

  const float momentum_;
  const bool nesterov_;
  const bool masks_;
  const double clip_;
  const std::uint64_t warmup_;
  PerParameter momenta_;
};

}  // namespace

LOCKSTEP_HOOKS(Dgc);
