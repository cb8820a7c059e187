#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "plugins/feedback/FeedbackHook.h"
#include "plugins/settings/Seed.h"

using namespace lockstep::plugin;

namespace {

/// Random-k sparsification with error feedback (Stich, Cordonnier, Jaggi, NeurIPS 2018): all ranks
/// draw the same indices from seed, step and bucket (its first parameter, which is the same on all
/// ranks), so that a plain allreduce of k values will do.
class RandomK : public DensityHook {
 public:
  static Description description() {
    return Description(
               "randomk", "random-k", "1.0",
               "Averages a random part of the gradients, the same on all ranks, and keeps the "
               "rest for later steps. Sends no indices.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .real(kDensity)
        .boolean(kErrorFeedback)
        .integer(seedOf("of the choice"));
  }

  RandomK(Host host, const Values& values)
      : DensityHook(host, values, values["error_feedback"].boolean()),
        seed_(values["seed"].count()) {}

  void run(Run run, Bucket bucket) {
    addRest(bucket);
    const auto flat = bucket.flat();
    auto chosen = choose(bucket);
    const auto values = run.scratch<float>(chosen.size());
    const float scale =
        feeds() ? 1.0F : static_cast<float>(flat.size()) / static_cast<float>(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      values[i] = flat[chosen[i]] * scale / static_cast<float>(bucket.divisor());
      flat[chosen[i]] = 0;
    }
    keepRest(bucket);
    run.counter("kept", static_cast<double>(chosen.size()));
    run.allReduce(bufferOf(values), LOCKSTEP_SUM, [run, flat, values, chosen = std::move(chosen)] {
      std::fill(flat.begin(), flat.end(), 0.0F);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        flat[chosen[i]] = values[i];
      }
      run.complete();
    });
    run.noMore();
  }

 private:
  /// Distinct indices, ascending, the same on every rank (Floyd's algorithm).
  [[nodiscard]] std::vector<std::uint32_t> choose(const Bucket& bucket) const {
    const auto size = static_cast<std::uint32_t>(bucket.numel());
    const auto count = static_cast<std::uint32_t>(countFor(density(), size));
    std::seed_seq sequence{seed_, bucket.step(), std::uint64_t{bucket.id(0)}};
    std::mt19937_64 random(sequence);
    std::vector<bool> taken(size, false);
    for (std::uint32_t last = size - count; last < size; ++last) {
      // By remainder, which is the same in every standard library; a bias of 2^-32 does no harm.
      const auto drawn = static_cast<std::uint32_t>(random() % (std::uint64_t{last} + 1));
      taken[taken[drawn] ? last : drawn] = true;
    }
    std::vector<std::uint32_t> chosen;
    chosen.reserve(count);
    for (std::uint32_t i = 0; i < size; ++i) {
      if (taken[i]) {
        chosen.push_back(i);
      }
    }
    return chosen;
  }

  const std::uint64_t seed_;
};

}  // namespace

LOCKSTEP_HOOKS(RandomK);
