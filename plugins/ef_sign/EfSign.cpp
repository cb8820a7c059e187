#include <algorithm>
#include <cstdint>

#include "plugins/exchange/Gather.h"
#include "plugins/feedback/FeedbackHook.h"
#include "plugins/signs/ScaledSigns.h"

using namespace lockstep::plugin;
using lockstep::kernels::kernels;

namespace {

/// EF-SignSGD (Karimireddy et al., ICML 2019): of p = lr g + residual each rank sends the signs
/// and, for each parameter, the mean magnitude; the update is the mean of what was sent, and the
/// rest of p is the residual. In units of the update, so that it outlives a change of lr.
class EfSign : public FeedbackHook {
 public:
  static Description description() {
    return Description(
               "ef_sign", "EF-SignSGD", "1.0",
               "Sends one bit for each gradient and a scale for each parameter, and keeps the "
               "error for later steps.")
        .caps(LOCKSTEP_CAP_SAME_RESULT);
  }

  EfSign(Host host, const Values&) : FeedbackHook(host, true) {}

  void configure(const lockstep_optimizer_info& optimizer) {
    if (!(optimizer.learning_rate > 0)) {
      throw Error(LOCKSTEP_E_ARGUMENT, "EF-SignSGD needs a learning rate above 0");
    }
    rate_ = static_cast<float>(optimizer.learning_rate);
  }

  void run(Run run, Bucket bucket) {
    // Of each parameter: its scale, then its signs.
    std::size_t bytes = 0;
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      bytes += bytesFor(bucket, i);
    }
    const auto own = run.scratch<std::uint8_t>(bytes);
    std::uint8_t* out = own.data();
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      encode(bucket, i, out);
      out += bytesFor(bucket, i);
    }
    gatherAndAdd(run, bucket, own,
                 [this, bucket](auto, auto message, auto) { add(bucket, message.data()); });
  }

 private:
  static std::size_t bytesFor(const Bucket& bucket, std::uint32_t i) {
    return signMessageBytes(static_cast<std::size_t>(bucket.length(i)));
  }

  void encode(const Bucket& bucket, std::uint32_t i, std::uint8_t* out) {
    const auto gradient = bucket.gradient(i);
    auto& p = residual(bucket.id(i), gradient.size());
    kernels().addScaled(p.data(), gradient.data(), rate_, gradient.size());
    // The mean magnitude: of all numbers that could stand for those of p, each with its sign, it is
    // the one with the least squared error.
    const auto scale = static_cast<float>(kernels().absoluteSum(p.data(), p.size()) /
                                          static_cast<double>(std::max<std::size_t>(p.size(), 1)));
    encodeSigns(out, p, scale);
  }

  void add(const Bucket& bucket, const std::uint8_t* in) const {
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      addSigns(in, bucket.gradient(i),
               scaleOf(in) / (rate_ * static_cast<float>(bucket.divisor())));
      in += bytesFor(bucket, i);
    }
  }

  float rate_ = 1;
};

}  // namespace

LOCKSTEP_HOOKS(EfSign);
