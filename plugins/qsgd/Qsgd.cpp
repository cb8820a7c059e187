#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

#include "engine/kernels/Kernels.h"
#include "plugins/exchange/Gather.h"
#include "plugins/settings/Seed.h"

using namespace lockstep::plugin;
using lockstep::kernels::kernels;

namespace {

constexpr std::size_t kBlock = 512;

/// QSGD (Alistarh et al., NIPS 2017) in blocks of 512: each gradient is rounded at random to one
/// of the levels between zero and its block's norm, right on average.
class Qsgd : public Hook {
 public:
  static Description description() {
    return Description(
               "qsgd", "QSGD", "1.0",
               "Sends a byte for each gradient: its level, rounded at random so that the mean "
               "is right, and the norm of each block of 512.")
        .caps(LOCKSTEP_CAP_SAME_RESULT | LOCKSTEP_CAP_JOIN)
        .integer("levels", "Levels", {.initial = 127, .min = 1, .max = 127},
                 "between zero and the norm")
        .integer(seedOf("of the rounding; each rank has numbers of its own"));
  }

  Qsgd(Host host, const Values& values)
      : Hook(host),
        levels_(static_cast<float>(values["levels"].integer())),
        seed_(values["seed"].count()) {}

  void run(Run run, Bucket bucket) {
    const auto flat = bucket.flat();
    const std::size_t blocks = (flat.size() + kBlock - 1) / kBlock;
    const auto own = run.scratch<std::uint8_t>(blocks * sizeof(float) + flat.size());
    encode(bucket, own, blocks);
    gatherAndAdd(run, bucket, own, [this, bucket, blocks](auto out, auto message, auto) {
      add(out, message, blocks, static_cast<float>(bucket.divisor()));
    });
  }

 private:
  void encode(const Bucket& bucket, std::span<std::uint8_t> out, std::size_t blocks) const {
    const auto in = bucket.flat();
    // Seeded by step and bucket, so that a resumed run draws the same; and by rank, since errors
    // that all ranks make alike do not average out.
    std::seed_seq sequence{seed_, bucket.step(), std::uint64_t{bucket.id(0)},
                           static_cast<std::uint64_t>(host().rank())};
    std::mt19937 random(sequence);
    auto* const elements = reinterpret_cast<std::int8_t*>(out.data()) + blocks * sizeof(float);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t first = block * kBlock;
      const std::size_t count = std::min(kBlock, in.size() - first);
      const auto norm =
          static_cast<float>(std::sqrt(kernels().dot(in.data() + first, in.data() + first, count)));
      std::memcpy(out.data() + block * sizeof norm, &norm, sizeof norm);
      const float toLevels = levels_ / norm;
      if (std::isfinite(norm) && std::isfinite(toLevels)) {
        kernels().quantizeAtRandom(in.data() + first, elements + first, count, toLevels, levels_,
                                   random());
      } else {  // too small to count; or NaN or infinite, which the norm turns all of them into
        std::fill_n(elements + first, count, std::int8_t{0});
      }
    }
  }

  void add(std::span<float> out, std::span<const std::uint8_t> in, std::size_t blocks,
           float divisor) const {
    const auto* const elements =
        reinterpret_cast<const std::int8_t*>(in.data()) + blocks * sizeof(float);
    for (std::size_t block = 0; block < blocks; ++block) {
      float norm = 0;
      std::memcpy(&norm, in.data() + block * sizeof norm, sizeof norm);
      // A level of l stands for l / levels of the norm.
      const float scale = norm / levels_ / divisor;
      const std::size_t first = block * kBlock;
      kernels().addLevels(elements + first, out.data() + first,
                          std::min(kBlock, out.size() - first), scale);
    }
  }

  const float levels_;
  const std::uint64_t seed_;
};

}  // namespace

LOCKSTEP_HOOKS(Qsgd);
