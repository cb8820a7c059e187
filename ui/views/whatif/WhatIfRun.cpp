#include "ui/views/whatif/WhatIfRun.h"

#include <algorithm>
#include <utility>

#include "engine/analysis/TuneBuckets.h"
#include "engine/base/NumberText.h"
#include "engine/cost/ForecastText.h"
#include "engine/diagnosis/WantedChange.h"
#include "ui/model/StartingLarge.h"
#include "ui/views/whatif/WhatIfWords.h"

namespace lockstep::ui {
namespace {

/// What can never be known of a run comes before what it did not record.
QString refusal(const trace::RunInfo& info, const std::optional<experiment::Experiment>& read) {
  return info.kind == trace::RunKind::kSimulated
             ? said("This run is simulated: ask the run that it was made from.")
         : info.kind == trace::RunKind::kObserved
             ? said(
                   "This is a job of PyTorch: there is no experiment that says its caps and its "
                   "link, and so no forecast with others.")
         : !read ? said("The experiment of this run cannot be read, so its cap is not known.")
                 : QString();
}

/// As `lockstep tune` cuts its buckets; empty where that is not known.
std::vector<double> tunedCaps(const WhatIfRun& made) {
  std::vector<double> caps;
  const auto gradients = analysis::timedGradients(made.recorded.value());
  if (gradients.ok()) {
    const cost::Forecaster& forecaster = made.forecaster.value();
    const auto cut =
        analysis::exactCut(gradients.value(), forecaster.fit().cost, forecaster.mostBytes());
    for (const cost::PlannedBucket& bucket : analysis::planOf(gradients.value(), cut)) {
      caps.push_back(static_cast<double>(bucket.bytes) / base::kMiB);
    }
  }
  return caps;
}

}  // namespace

std::optional<std::uint64_t> WhatIfRun::ownCap() const {
  // A list of caps is no one number that a slider could change.
  if (!recorded.ok() || !recorded.value().settings.experiment.ddp.bucketCapMbList.empty()) {
    return std::nullopt;
  }
  return analysis::capsOf(recorded.value().settings.experiment.ddp).capBytes;
}

std::uint64_t WhatIfRun::leastCap() const {
  std::uint64_t least = mostCap();
  if (recorded.ok()) {
    for (const auto& parameter : recorded.value().parameters) {
      least = std::min(least, static_cast<std::uint64_t>(parameter.bytes));
    }
  }
  return std::max<std::uint64_t>(least, 1);
}

std::uint64_t WhatIfRun::mostCap() const {
  std::uint64_t all = 0;
  if (recorded.ok()) {
    for (const auto& bucket : recorded.value().layout.buckets) {
      all += bucket.bytes;
    }
  }
  return std::max<std::uint64_t>(all, 2);
}

std::shared_ptr<const WhatIfRun> whatIfRun(std::shared_ptr<const AnalysedRun> run,
                                           const trace::RunInfo& info,
                                           std::vector<trace::RankInfo> ranks,
                                           const std::filesystem::path& path) {
  auto made = std::make_shared<WhatIfRun>();
  auto experiment = analysis::experimentOf(info, path);
  made->refused = refusal(info, experiment);
  made->recorded = analysis::recordedSteps(run->data, info, ranks, std::move(experiment), path);
  made->forecaster = made->recorded.ok() ? cost::Forecaster::make(diagnosis::recordedRunOf(
                                               made->recorded.value(), run->data, &run->analysis))
                                         : base::Result<cost::Forecaster>(made->recorded.error());
  if (made->forecaster.ok()) {
    made->tunedMb = tunedCaps(*made);
  }
  made->run = std::move(run);
  made->ranks = std::move(ranks);
  return made;
}

QString cannotTellSentence(const base::Error& error) {
  return startingLarge(cost::cannotTellText(error)) + QLatin1Char('.');
}

}  // namespace lockstep::ui
