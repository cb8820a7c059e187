#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/averaging/Mean.h"
#include "plugins/exchange/Servers.h"
#include "plugins/feedback/FeedbackHook.h"
#include "plugins/optimizer/Update.h"
#include "plugins/signs/ScaledSigns.h"

using namespace lockstep::plugin;
using lockstep::kernels::kernels;

namespace {

/// A bucket cut into one chunk for each rank, of whole bytes of signs. A chunk's message is its
/// scale, then its signs.
struct Chunks {
  Chunks(std::size_t numbers, int ranks)
      : total(numbers),
        bytes(((numbers + 7) / 8 + static_cast<std::size_t>(ranks) - 1) /
              static_cast<std::size_t>(ranks)) {}
  [[nodiscard]] std::size_t message() const { return signMessageBytes(bytes * 8); }
  [[nodiscard]] std::size_t first(int rank) const {
    return std::min(total, static_cast<std::size_t>(rank) * bytes * 8);
  }
  [[nodiscard]] std::size_t count(int rank) const { return first(rank + 1) - first(rank); }

  std::size_t total;
  std::size_t bytes;
};

float rootMeanSquare(std::span<const float> values) {
  return values.empty() ? 0.0F
                        : static_cast<float>(
                              std::sqrt(kernels().dot(values.data(), values.data(), values.size()) /
                                        static_cast<double>(values.size())));
}

/// 1-bit Adam (Tang et al., ICML 2021): Adam with averaged gradients at first; then the second
/// moment is frozen and what is averaged is the momentum, in one bit a number, with error feedback
/// where it is sent and where it is averaged.
class OneBit : public FeedbackHook {
 public:
  static Description description() {
    return Description("onebit", "1-bit Adam", "1.0",
                       "Adam whose momentum is sent in one bit a number once its variance has "
                       "settled.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .integer("warmup", "Warm-up", {.initial = 100, .min = 2, .max = 1e9},
                 "iterations of plain Adam before the variance is frozen, 15 to 25 % "
                 "of all; at least 2, so that the buckets have been rebuilt")
        .real("variance_floor", "Variance floor",
              {.initial = 0.01, .min = 0, .max = 1, .flags = LOCKSTEP_PARAM_ADVANCED},
              "least frozen variance, as part of the mean of all: an element with "
              "less would be thrown far by the common scale; 0: none, as in the paper");
  }

  OneBit(Host host, const Values& values)
      : FeedbackHook(host, true),
        warmup_(values["warmup"].count()),
        floor_(values["variance_floor"].real()) {
    alsoKeep(served_);
    alsoKeep(first_);
    alsoKeep(second_);
  }

  void configure(const lockstep_optimizer_info& optimizer) {
    if (optimizer.kind != LOCKSTEP_ADAM && optimizer.kind != LOCKSTEP_ADAMW) {
      throw Error(LOCKSTEP_E_UNSUPPORTED,
                  "1-bit Adam compresses Adam's momentum: choose the optimizer adam or adamw");
    }
    adam_ = optimizer;
  }

  // Once the variance is frozen, an update is linear in the momentum: what one step leaves out of
  // it a later step makes good, which is what error feedback needs. In plain Adam a gradient that
  // comes late also changes the variance that others are divided by. All ranks begin a step with
  // the same m, the average of the step before, and each adds its own gradient to it.
  void run(Run run, Bucket bucket) {
    if (bucket.step() < warmup_) {
      averageBucket(run, bucket);
      return;
    }
    const auto flat = bucket.flat();
    addToMomentum(bucket);
    addRest(bucket);
    const Chunks chunks(flat.size(), run.size());
    const auto sent =
        run.scratch<std::uint8_t>(chunks.message() * static_cast<std::size_t>(run.size()));
    std::fill(sent.begin(), sent.end(), std::uint8_t{0});
    const float scale = rootMeanSquare(flat);
    for (int rank = 0; rank < run.size(); ++rank) {
      encodeSigns(of(sent, chunks, rank), flat.subspan(chunks.first(rank), chunks.count(rank)),
                  scale);
    }
    keepRest(bucket);
    throughServers(
        run, sent,
        [=, this](std::span<std::uint8_t> received, std::span<std::uint8_t> answer) {
          serve(run, bucket, chunks, received, answer);
        },
        [=](std::span<std::uint8_t> answers) {
          std::fill(flat.begin(), flat.end(), 0.0F);
          for (int rank = 0; rank < run.size(); ++rank) {
            const std::uint8_t* message = of(answers, chunks, rank);
            addSigns(message, flat.subspan(chunks.first(rank), chunks.count(rank)),
                     scaleOf(message));
          }
        });
  }

  void update(Run run, Step step) {
    for (std::uint32_t i = 0; i < step.parameters(); ++i) {
      if (const auto gradient = step.gradient(i); !gradient.empty()) {
        updateOne(step.parameter(i).id, step.step(), step.value(i), gradient);
      }
    }
    // Once, with the last variance that is still Adam's.
    if (step.step() + 1 == warmup_) {
      raiseVariance(step);
    }
    run.complete();
  }

 private:
  static std::uint8_t* of(std::span<std::uint8_t> messages, const Chunks& chunks, int rank) {
    return messages.data() + static_cast<std::size_t>(rank) * chunks.message();
  }

  /// The bucket becomes this rank's momentum: beta1 m + (1 - beta1) g.
  void addToMomentum(const Bucket& bucket) {
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      const auto gradient = bucket.gradient(i);
      const auto& last = first_.of(bucket.id(i), gradient.size());
      kernels().scale(gradient.data(), static_cast<float>(1 - adam_.beta1), gradient.size());
      kernels().addScaled(gradient.data(), last.data(), static_cast<float>(adam_.beta1),
                          gradient.size());
    }
  }

  /// Averages this rank's chunk of what all sent, and encodes that with an error of its own.
  void serve(const Run& run, const Bucket& bucket, const Chunks& chunks,
             std::span<std::uint8_t> received, std::span<std::uint8_t> message) {
    const std::size_t first = chunks.first(run.rank());
    const auto mean = run.scratch<float>(chunks.count(run.rank()));
    std::fill(mean.begin(), mean.end(), 0.0F);
    for (int rank = 0; rank < run.size(); ++rank) {
      const std::uint8_t* vote = of(received, chunks, rank);
      addSigns(vote, mean, scaleOf(vote) * static_cast<float>(1 / bucket.divisor()));
    }
    overlap(bucket, first, mean, [](std::span<float> part, std::span<float> error) {
      kernels().add(part.data(), error.data(), part.size());
    });
    encodeSigns(message.data(), mean, rootMeanSquare(mean));
    overlap(bucket, first, mean, [](std::span<float> part, std::span<float> error) {
      std::copy(part.begin(), part.end(), error.begin());
    });
  }

  /// Calls body(part of chunk, its error) for each parameter that the chunk from `first` on holds
  /// a part of. Errors lie by parameter, since chunks change with the buckets.
  template <typename Body>
  void overlap(const Bucket& bucket, std::size_t first, std::span<float> chunk, Body body) {
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      const auto offset = static_cast<std::size_t>(bucket.offset(i));
      const auto length = static_cast<std::size_t>(bucket.length(i));
      const std::size_t from = std::max(first, offset);
      const std::size_t end = std::min(first + chunk.size(), offset + length);
      if (from < end) {
        const std::span<float> error = served_.of(bucket.id(i), length);
        body(chunk.subspan(from - first, end - from), error.subspan(from - offset, end - from));
      }
    }
  }

  void updateOne(std::uint32_t id, std::uint64_t step, std::span<float> values,
                 std::span<const float> averaged) {
    auto& first = first_.of(id, values.size());
    auto& second = second_.of(id, values.size());
    const bool decoupled = adam_.kind == LOCKSTEP_ADAMW;
    const double penalty = decoupled ? 0 : adam_.weight_decay;
    if (decoupled) {
      decayValues(values, adam_.learning_rate, adam_.weight_decay);
    }
    if (step < warmup_) {
      std::vector<float> gradients(averaged.begin(), averaged.end());
      decayGradients(values, gradients, penalty);
      updateMoments(adam_, gradients, first, second);
    } else {
      std::copy(averaged.begin(), averaged.end(), first.begin());
      decayGradients(values, first, (1 - adam_.beta1) * penalty);
      // What has seen no gradient stays where it is, whatever the scale of its neighbours.
      for (std::size_t i = 0; i < first.size(); ++i) {
        first[i] = second[i] == 0 ? 0.0F : first[i];
      }
    }
    moveByMoments(adam_, values, first, second, shareAfter(adam_.beta1, step + 1),
                  shareAfter(adam_.beta2, std::min(step + 1, warmup_)));
  }

  /// Raises the frozen variances, but for those of what has seen no gradient, to their floor.
  void raiseVariance(const Step& step) {
    double sum = 0;
    double count = 0;
    for (std::uint32_t i = 0; i < step.parameters(); ++i) {
      const auto& second = second_.of(step.parameter(i).id, step.value(i).size());
      sum += kernels().absoluteSum(second.data(), second.size());
      count += static_cast<double>(second.size());
    }
    const auto least = static_cast<float>(floor_ * sum / std::max(count, 1.0));
    for (std::uint32_t i = 0; i < step.parameters(); ++i) {
      for (float& variance : second_.of(step.parameter(i).id, step.value(i).size())) {
        variance = variance == 0 ? 0.0F : std::max(variance, least);
      }
    }
  }

  const std::uint64_t warmup_;
  const double floor_;
  lockstep_optimizer_info adam_{};
  PerParameter served_;  // errors of the means that this rank sent
  PerParameter first_;
  PerParameter second_;
};

}  // namespace

LOCKSTEP_HOOKS(OneBit);
