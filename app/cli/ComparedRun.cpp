#include "app/cli/ComparedRun.h"

#include <utility>

#include "engine/base/Try.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::cli {

base::Result<ComparedRun> readComparedRun(const std::filesystem::path& path) {
  ComparedRun run;
  run.path = path;
  std::vector<trace::RankInfo> ranks;
  analysis::LastMetrics metrics;
  LOCKSTEP_TRY(trace::readWholeRun(path, [&](trace::RunUpdate& update) {
    run.data.take(update);
    run.info = std::move(update.info).value_or(std::move(run.info));
    ranks = std::move(update.ranks).value_or(std::move(ranks));
    for (const trace::MetricRow& metric : update.metrics) {
      // The last of each stays: what a run came to.
      metrics[metric.name][metric.rank] = metric.value;
    }
  }));
  run.settings = analysis::settingsOf(run.info, ranks);
  run.analysis = analysis::analyse(run.data);
  run.outcome = analysis::outcomeOf(metrics, ranks, run.analysis);
  return run;
}

}  // namespace lockstep::cli
