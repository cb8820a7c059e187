#include <cstdint>

#include "plugins/averaging/Distance.h"
#include "plugins/averaging/Mean.h"
#include "plugins/averaging/Parameters.h"
#include "plugins/nodes/Nodes.h"

using namespace lockstep::plugin;

namespace {

/// Post-local SGD (Lin, Stich, Patel, Jaggi, ICLR 2020), as PyTorch's post_localSGD_hook with its
/// PeriodicModelAverager: averaged gradients up to `start`, then each node's own, and the mean of
/// the parameters after every `period`-th step. The warm-up of the averager is the hook's start.
class PostLocalSgd : public Hook {
 public:
  static Description description() {
    return Description(
               "post_local_sgd", "post-local SGD", "1.0",
               "Averages gradients at first; later each rank steps by itself, and parameters "
               "are averaged now and then.")
        .caps(LOCKSTEP_CAP_LOCAL_RESULT)
        .integer("start", "Start", {.initial = 100, .min = 0, .max = 1e9},
                 "iterations with averaged gradients before steps become local")
        .integer("period", "Period",
                 {.initial = 8, .min = 1, .max = 1e9, .flags = LOCKSTEP_PARAM_LIVE},
                 "local steps between two averages of the parameters")
        .integer(kMeasureEvery)
        .integer(kRanksPerNode);
  }

  PostLocalSgd(Host host, const Values& values)
      : Hook(host),
        start_(values["start"].count()),
        period_(values["period"].count()),
        measureEvery_(values["measure_every"].count()),
        nodes_(host, values["ranks_per_node"].integer()) {}

  [[nodiscard]] bool replicasDrift() const noexcept { return true; }

  void set(const Value& period) { period_ = period.count(); }

  void run(Run run, Bucket bucket) {
    if (bucket.step() < start_) {
      averageBucket(run, bucket);
    } else if (nodes_.inside() == nullptr) {
      run.complete();
    } else {
      average(run, *nodes_.inside(), bucket.flat(), nodes_.size(), [run] { run.complete(); });
      run.noMore();
    }
  }

  void afterOptimizer(Run run, Step step) {
    const bool averaged = step.step() >= start_ && (step.step() - start_) % period_ == 0;
    const bool measured = isDue(measureEvery_, step.step());
    if (!averaged && !measured) {
      run.complete();
      return;
    }
    const auto all = gatherParameters(run, step);
    if (!averaged) {
      completeMeasured(run, all, measured);
      return;
    }
    average(run, run.world(), all, run.size(), [run, step, all, measured] {
      scatterParameters(all, step);
      completeMeasured(run, all, measured);
    });
  }

 private:
  const std::uint64_t start_;
  std::uint64_t period_;
  const std::uint64_t measureEvery_;
  const Nodes nodes_;
};

}  // namespace

LOCKSTEP_HOOKS(PostLocalSgd);
