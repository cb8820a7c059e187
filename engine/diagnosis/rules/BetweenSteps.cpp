#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/rules/Judges.h"
#include "engine/trace/Event.h"

namespace lockstep::diagnosis {
namespace {

/// One rank's evaluations, or its checkpoints.
struct Breaks {
  double ms = 0;
  std::vector<std::uint32_t> steps;
};

std::string everyText(const Breaks& breaks) {
  if (breaks.steps.size() < 3) {
    return "";
  }
  const std::uint32_t every = breaks.steps[2] - breaks.steps[1];
  for (std::size_t i = 2; i < breaks.steps.size(); ++i) {
    if (breaks.steps[i] - breaks.steps[i - 1] != every) {
      return "";
    }
  }
  return fmt::format(", every {} steps", every);
}

}  // namespace

std::vector<Finding> judgeBetweenSteps(const Evidence& evidence) {
  using trace::EventKind;
  constexpr double kWorthNaming = 0.10;
  std::map<EventKind, Breaks> breaks;
  evidence.data.eachSpanOf(
      [](EventKind kind) { return kind == EventKind::kEvaluate || kind == EventKind::kCheckpoint; },
      0, [&](int rank, const trace::SpanRow& span) {
        if (rank == 0) {
          breaks[span.kind].ms += evidence.data.clock.durationNs(span.durationTicks) / 1e6;
          breaks[span.kind].steps.push_back(span.step);
        }
      });
  std::size_t steps = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  for (const analysis::StepOverlap& step : evidence.steps) {
    if (step.times.rank == 0) {
      begin = begin == 0 ? step.times.startTicks : std::min(begin, step.times.startTicks);
      end = std::max(end, step.times.endTicks);
      steps += 1;
    }
  }
  const double wallMs = evidence.data.clock.durationNs(end - begin) / 1e6;
  std::vector<Finding> findings;
  for (const auto& [kind, of] : breaks) {
    if (wallMs <= 0 || of.ms < kWorthNaming * wallMs || of.steps.size() < 2) {
      continue;  // one at the end is not between steps
    }
    const bool evaluates = kind == EventKind::kEvaluate;
    Finding& finding = findings.emplace_back();
    finding.weight = Weight::kCost;
    const double perStepMs = of.ms / static_cast<double>(steps);
    finding.savingMs = cost::MeanInterval{perStepMs, perStepMs, perStepMs};
    finding.atMost = true;
    finding.title =
        evaluates ? "much time goes into evaluating" : "much time goes into checkpoints";
    finding.sentence = fmt::format(
        "Rank 0 {} {}{}: {} of the {} that its steps took from first to last.",
        evaluates ? "evaluated" : "wrote checkpoints", base::countedText(of.steps.size(), "time"),
        everyText(of), base::durationText(of.ms * 1e6), base::durationText(wallMs * 1e6));
    finding.remedy = evaluates ? "Evaluate less often, or on fewer samples: train.evaluate_every."
                               : "Write them less often: train.checkpoint_every.";
    finding.place.rank = 0;
    finding.place.step = of.steps.front();
  }
  return findings;
}

}  // namespace lockstep::diagnosis
