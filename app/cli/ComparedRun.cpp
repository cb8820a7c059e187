#include "app/cli/ComparedRun.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep::cli {

base::Result<ComparedRun> readComparedRun(const std::filesystem::path& path) {
  auto reader = trace::RunFileReader::open(path);
  if (!reader.ok()) {
    return reader.error();
  }
  ComparedRun run;
  run.path = path;
  std::vector<trace::RankInfo> ranks;
  analysis::LastMetrics metrics;
  constexpr std::size_t kBatch = 200'000;
  for (bool more = true; more;) {
    auto polled = reader.value()->poll(kBatch);
    if (!polled.ok()) {
      return polled.error();
    }
    trace::RunUpdate& update = polled.value();
    run.data.doubt.take(update);
    more = update.spans.size() == kBatch;
    if (update.info) {
      run.info = std::move(*update.info);
    }
    if (update.ranks) {
      ranks = std::move(*update.ranks);
    }
    if (update.tracks) {
      run.data.tracks = std::move(*update.tracks);
    }
    if (update.layouts) {
      run.data.layouts = std::move(*update.layouts);
    }
    if (update.parameters) {
      run.data.parameters = std::move(*update.parameters);
    }
    run.data.clock = update.clock.value_or(run.data.clock);
    for (const trace::MetricRow& metric : update.metrics) {
      metrics[metric.name][metric.rank] = metric.value;
    }
    std::copy_if(update.spans.begin(), update.spans.end(), std::back_inserter(run.data.spans),
                 analysis::isAnalysed);
  }
  run.settings = analysis::settingsOf(run.info, ranks);
  run.analysis = analysis::analyse(run.data);
  run.outcome = analysis::outcomeOf(metrics, ranks, run.analysis);
  return run;
}

}  // namespace lockstep::cli
