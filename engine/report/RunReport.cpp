#include "engine/report/RunReport.h"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "engine/analysis/RunAnalysis.h"
#include "engine/base/Try.h"
#include "engine/diagnosis/Evidence.h"
#include "engine/report/DdpLogging.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/UserPhases.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::report {
namespace {

/// Gathers the report from what a run file holds, batch by batch.
class Gathering {
 public:
  /// `whole`: with the spans that are not analysed, and the delays of buckets, too.
  explicit Gathering(bool whole) : whole_(whole) {}

  void take(trace::RunUpdate update) {
    data_.take(update);
    if (update.info) {
      report_.info = std::move(*update.info);
    }
    if (update.ranks) {
      report_.ranks = std::move(*update.ranks);
    }
    if (update.hosts) {
      report_.hosts = std::move(*update.hosts);
    }
    if (update.parameters) {
      report_.parameters = std::move(*update.parameters);
    }
    for (const auto& metric : update.metrics) {
      takeMetric(metric);
    }
    for (auto& problem : update.problems) {
      report_.problems.push_back(std::move(problem));
    }
    report_.events += update.spans.size();
    for (const trace::SpanRow& span : update.spans) {
      if (whole_ && !run::has(span.kind, run::kAnalysed)) {
        notAnalysed_.push_back(span);
      }
    }
  }

  ReportedRun finish(const std::filesystem::path& runFile) {
    // What c10d's Logger knows stands among the environment of a rank in the file, by a prefix. It
    // is shown under a heading of its own, and so is taken out of the rest.
    for (auto& rank : report_.ranks) {
      report_.eventsDropped += rank.eventsDropped;
      report_.ddpLogging.push_back(logging_.fields(rank));
      rank.environment = DdpLogging::environmentOf(rank);
      // Names of kinds of events, and nothing that the rank runs on.
      std::erase_if(rank.environment, [](const auto& fact) {
        return fact.first.starts_with(trace::kUserPhasePrefix);
      });
    }
    analysis::BucketDelays delays;
    diagnosis::BucketVerdict verdict;
    const auto takeDelays = [&](analysis::BucketDelays of, const analysis::RunAnalysis& run) {
      verdict = of.empty() ? diagnosis::BucketVerdict() : diagnosis::bucketVerdict(of, run);
      for (analysis::BucketCell& cell : of.cells) {
        cell.samples = {};
      }
      delays = std::move(of);
    };
    diagnosis::Evidence evidence = diagnosis::evidenceOf(
        {report_.info, report_.ranks, std::move(data_), std::nullopt, report_.hosts}, runFile,
        whole_ ? diagnosis::TakeDelays(takeDelays) : diagnosis::TakeDelays());
    const analysis::RunAnalysis& analysed = evidence.run;
    // A trace begins in the middle of a job, and may be of another rank alone.
    const bool imported = !trace::wasRecorded(report_.info.kind);
    const int counted = imported && !report_.ranks.empty() ? report_.ranks.front().rank : 0;
    for (const auto& step : analysed.steps()) {
      if (step.rank == counted) {
        report_.steps = imported ? report_.steps + 1 : std::max(report_.steps, step.step + 1);
      }
    }
    report_.stepsPerSecond = analysed.wallStepsPerSecond;
    report_.stepsPerSecondWithin = analysed.stepsPerSecond;
    report_.figures = analysed.ranks;
    report_.lateness = analysed.lateness;
    // Of many ranks it takes as long as the diagnosis.
    const bool many = report_.figures.size() > kHandful;
    auto likeness = std::async(many ? std::launch::async : std::launch::deferred, [&] {
      return diagnosis::rankLikeness(analysed, report_.ranks, report_.hosts);
    });
    report_.stolenPercent = analysis::stolenPercent(evidence.data);
    report_.bottlenecks = analysis::rankOverlaps(evidence.steps, analysed.warmUp.firstMeasured);
    report_.causes = evidence.causes;
    report_.checks = analysed.checks;
    report_.divergence = evidence.divergence;
    report_.diagnosis = diagnosis::diagnose(evidence);
    if (many) {
      report_.likeness = likeness.get();
    }
    report_.layouts = evidence.data.layouts;
    return {std::move(report_), std::move(evidence), std::move(delays), std::move(verdict),
            std::move(notAnalysed_)};
  }

 private:
  void takeMetric(const trace::MetricRow& metric) {
    logging_.take(metric);
    // One loss for a run, rank 0's, as PyTorch's examples print it. Other ranks' losses are those
    // of their own batches; they stay in the file.
    if (metric.rank != 0) {
      return;
    }
    if (metric.name == "test_accuracy") {
      report_.testAccuracy = metric.value;
    } else if (metric.name == "loss" || metric.name == "final_loss") {
      // The second stands there also for steps whose events were not captured.
      report_.loss = metric.value;
      report_.steps = std::max(report_.steps, metric.step + 1);
    }
  }

  const bool whole_;
  RunReport report_;
  DdpLogging logging_;
  analysis::RunData data_;
  run::Spans notAnalysed_;
};

base::Result<ReportedRun> readRun(const std::filesystem::path& runFile, bool whole) {
  Gathering gathering(whole);
  LOCKSTEP_TRY(trace::readWholeRun(
      runFile, [&gathering](trace::RunUpdate& update) { gathering.take(std::move(update)); }));
  return gathering.finish(runFile);
}

}  // namespace

base::Result<ReportedRun> readReportedRun(const std::filesystem::path& runFile) {
  return readRun(runFile, true);
}

base::Result<RunReport> readRunReport(const std::filesystem::path& runFile) {
  ReportedRun reported = LOCKSTEP_TRY(readRun(runFile, false));
  return std::move(reported.report);
}

}  // namespace lockstep::report
