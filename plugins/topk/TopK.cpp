#include <cstddef>

#include "plugins/feedback/FeedbackHook.h"
#include "plugins/selection/Largest.h"
#include "plugins/selection/SparseMessage.h"

using namespace lockstep::plugin;

namespace {

/// Top-k sparsification with error feedback (Stich, Cordonnier, Jaggi, NeurIPS 2018): of gradient
/// plus residual the k largest magnitudes are sent as (index, value); the rest is the residual.
class TopK : public DensityHook {
 public:
  static Description description() {
    return Description("topk", "top-k", "1.0",
                       "Sends the largest gradients alone, by allgather of indices and values, and "
                       "keeps the rest for later steps.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .real(kDensity)
        .boolean(kErrorFeedback);
  }

  TopK(Host host, const Values& values)
      : DensityHook(host, values, values["error_feedback"].boolean()) {}

  void run(Run run, Bucket bucket) {
    addRest(bucket);
    const auto flat = bucket.flat();
    const std::size_t count = countFor(density(), flat.size());
    const SparseMessage message(run, bucket, largest(flat, count), count);
    keepRest(bucket);
    run.counter("kept", static_cast<double>(count));
    message.exchange(run, bucket);
  }
};

}  // namespace

LOCKSTEP_HOOKS(TopK);
