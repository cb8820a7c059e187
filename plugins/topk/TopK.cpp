#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "plugins/feedback/FeedbackHook.h"

using namespace lockstep::plugin;

namespace {

/// Top-k sparsification with error feedback (Stich, Cordonnier, Jaggi, NeurIPS 2018): of gradient
/// plus residual the k largest magnitudes are sent as (index, value); the rest is the residual.
class TopK : public FeedbackHook {
 public:
  static const Description& description() {
    static const Description description =
        Description("topk", "top-k", "1.0",
                    "Sends the largest gradients alone, by allgather of indices and values, and "
                    "keeps the rest for later steps.")
            .caps(LOCKSTEP_CAP_SAME_RESULT)
            .real(kDensity)
            .boolean(kErrorFeedback);
    return description;
  }

  TopK(Host host, const Values& values)
      : FeedbackHook(host, values["error_feedback"].boolean()),
        density_(values["density"].real()) {}

  void run(Run run, Bucket bucket) {
    addRest(bucket);
    const auto flat = bucket.flat();
    const auto count = static_cast<std::int64_t>(countFor(density_, flat.size()));
    // One message: indices, then the bits of the values.
    const auto message = run.scratch<std::int32_t>(2 * count);
    const auto all = run.scratch<std::int32_t>(2 * count * run.size());
    const auto chosen = select(flat, static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      message[i] = static_cast<std::int32_t>(chosen[i]);
      message[i + chosen.size()] = std::bit_cast<std::int32_t>(flat[chosen[i]]);
    }
    for (const std::uint32_t index : chosen) {
      flat[index] = 0;
    }
    keepRest(bucket);
    run.counter("kept", static_cast<double>(count));
    run.allGather(bufferOf(message), bufferOf(all), [this, run, bucket, all, count] {
      scatter(run, bucket, all, static_cast<std::size_t>(count));
      run.complete();
    });
    run.noMore();
  }

 private:
  /// The `count` largest magnitudes, lowest index first among equals, in ascending order.
  static std::vector<std::uint32_t> select(std::span<const float> values, std::size_t count) {
    std::vector<std::uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto larger = [values](std::uint32_t a, std::uint32_t b) {
      const float x = std::fabs(values[a]);
      const float y = std::fabs(values[b]);
      return x != y ? x > y : a < b;
    };
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
    if (end != order.end()) {
      std::nth_element(order.begin(), end, order.end(), larger);
    }
    order.resize(count);
    std::sort(order.begin(), order.end());
    return order;
  }

  static void scatter(const Run& run, const Bucket& bucket, std::span<const std::int32_t> all,
                      std::size_t count) {
    const auto flat = bucket.flat();
    std::fill(flat.begin(), flat.end(), 0.0F);
    const auto divisor = static_cast<float>(bucket.divisor());
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(run.size()); ++rank) {
      const auto part = all.subspan(rank * 2 * count, 2 * count);
      for (std::size_t i = 0; i < count; ++i) {
        const auto index = static_cast<std::size_t>(part[i]);
        if (index >= flat.size()) {
          throw Error(LOCKSTEP_E_COMM, "rank " + std::to_string(rank) + " sent index " +
                                           std::to_string(part[i]) + " of " +
                                           std::to_string(flat.size()));
        }
        flat[index] += std::bit_cast<float>(part[i + count]) / divisor;
      }
    }
  }

  const double density_;
};

}  // namespace

LOCKSTEP_HOOKS(TopK);
