#include "app/cli/RunReport.h"

#include <algorithm>
#include <utility>

namespace lockstep::cli {
namespace {

/// Gathers the report from what a run file holds, batch by batch.
class Gathering {
 public:
  void take(trace::RunUpdate update) {
    if (update.info) {
      report_.info = std::move(*update.info);
    }
    if (update.ranks) {
      report_.ranks = std::move(*update.ranks);
    }
    if (update.tracks) {
      for (const auto& track : *update.tracks) {
        rankOfTrack_[track.id] = track.rank;
      }
    }
    if (update.parameters) {
      report_.parameters = std::move(*update.parameters);
    }
    if (update.layouts) {
      report_.layouts = std::move(*update.layouts);
    }
    if (update.clock) {
      clock_ = *update.clock;
    }
    for (const auto& metric : update.metrics) {
      takeMetric(metric);
    }
    for (auto& problem : update.problems) {
      report_.problems.push_back(std::move(problem));
    }
    for (const auto& span : update.spans) {
      takeSpan(span);
    }
  }

  RunReport finish() {
    for (const auto& rank : report_.ranks) {
      report_.eventsDropped += rank.eventsDropped;
    }
    // Times are converted last: the calibration grows better until the run ends.
    if (report_.steps > 1) {
      const double seconds = clock_.durationNs(lastEndTicks_ - firstEndTicks_) / 1e9;
      if (seconds > 0) {
        report_.stepsPerSecond = (report_.steps - 1) / seconds;
      }
    }
    return std::move(report_);
  }

 private:
  void takeMetric(const trace::MetricRow& metric) {
    if (metric.rank == 0 && metric.name == "loss") {
      report_.loss = metric.value;
    } else if (metric.rank == 0 && metric.name == "test_accuracy") {
      report_.testAccuracy = metric.value;
    }
  }

  void takeSpan(const trace::SpanRow& span) {
    ++report_.events;
    if (span.kind == trace::EventKind::kStep && rankOfTrack_[span.track] == 0) {
      const std::uint64_t end = span.startTicks + span.durationTicks;
      if (report_.steps++ == 0) {
        firstEndTicks_ = end;
      }
      lastEndTicks_ = std::max(lastEndTicks_, end);
    }
  }

  RunReport report_;
  std::map<std::int32_t, int> rankOfTrack_;
  base::ClockCalibration clock_;
  std::uint64_t firstEndTicks_ = 0;
  std::uint64_t lastEndTicks_ = 0;
};

}  // namespace

base::Result<RunReport> readRunReport(const std::filesystem::path& runFile) {
  auto reader = trace::RunFileReader::open(runFile);
  if (!reader.ok()) {
    return reader.error();
  }
  Gathering gathering;
  constexpr std::size_t kBatch = 200'000;
  for (bool more = true; more;) {
    auto update = reader.value()->poll(kBatch);
    if (!update.ok()) {
      return update.error();
    }
    more = update.value().spans.size() == kBatch;
    gathering.take(std::move(update).value());
  }
  return gathering.finish();
}

}  // namespace lockstep::cli
