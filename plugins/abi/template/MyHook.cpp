#include <algorithm>
#include <cmath>

#include <lockstep/comm_hook.hpp>

using namespace lockstep::plugin;

namespace {

/// Averages gradients that were clipped, each to a magnitude: a place to begin from.
class MyHook : public Hook {
 public:
  static Description description() {
    return Description("my_hook", "my hook", "0.1", "Clips each gradient, then averages.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .real("limit", "Limit",
              {.initial = 1, .min = 1e-6, .max = 1e6, .flags = LOCKSTEP_PARAM_LOG_SCALE},
              "largest magnitude of a gradient");
  }

  MyHook(Host host, const Values& values)
      : Hook(host), limit_(static_cast<float>(values["limit"].real())) {}

  void run(Run run, Bucket bucket) {
    // Encode: what is done before anything is sent.
    double clipped = 0;
    for (float& gradient : bucket.flat()) {
      clipped += std::fabs(gradient) > limit_ ? 1 : 0;
      gradient = std::clamp(gradient, -limit_, limit_) / static_cast<float>(bucket.divisor());
    }
    run.counter("clipped", clipped);
    // Communicate; then decode: what is done with what came. The mean stands in the bucket.
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
    run.noMore();
  }

 private:
  const float limit_;
};

}  // namespace

LOCKSTEP_HOOKS(MyHook);
