#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "engine/base/NumberText.h"
#include "engine/report/html/Timeline.h"

namespace lockstep::report::html {
namespace {

constexpr std::size_t kWorst = 3;

/// The longest time that any rank took for a step, in ms, and whose it is.
struct Longest {
  double ms = 0;
  int rank = 0;
};

/// Of the steps that may be shown, by number: those that are measured or, where none is, all.
std::map<std::uint32_t, Longest> longestByStep(const diagnosis::Evidence& evidence) {
  std::map<std::uint32_t, Longest> measured;
  std::map<std::uint32_t, Longest> all;
  for (const analysis::StepOverlap& step : evidence.steps) {
    // Of a step of which only sums were kept there is nothing to show.
    if (step.times.kept == trace::KeptDetail::kSums) {
      continue;
    }
    for (auto* steps : {&all, evidence.isMeasured(step.times) ? &measured : nullptr}) {
      if (steps != nullptr && step.times.stepMs > (*steps)[step.times.step].ms) {
        (*steps)[step.times.step] = {step.times.stepMs, step.times.rank};
      }
    }
  }
  return measured.empty() ? all : measured;
}

}  // namespace

std::vector<ShownIteration> shownIterations(const ReportedRun& run, std::uint32_t lastSeen) {
  const auto byStep = longestByStep(run.evidence);
  std::vector<std::pair<std::uint32_t, Longest>> steps(byStep.begin(), byStep.end());
  std::ranges::stable_sort(steps, std::greater<>(),
                           [](const auto& step) { return step.second.ms; });
  std::vector<ShownIteration> shown;
  const auto add = [&](std::uint32_t step, std::string why) {
    if (std::ranges::find(shown, step, &ShownIteration::step) == shown.end()) {
      shown.push_back({step, std::move(why)});
    }
  };
  const trace::RunState state = run.report.info.state;
  if ((state == trace::RunState::kFailed || state == trace::RunState::kRecorderDied) &&
      (steps.empty() || lastSeen > 0)) {
    add(lastSeen, "the last of which anything was recorded");
  }
  for (std::size_t i = 0; i < std::min(steps.size(), kWorst); ++i) {
    const auto& [step, longest] = steps[i];
    add(step, fmt::format("{}: {} ms on rank {}",
                          i == 0 ? "the longest" : fmt::format("number {} by length", i + 1),
                          base::msText(longest.ms), longest.rank));
  }
  if (steps.size() > kWorst) {
    const auto& [step, longest] = steps[steps.size() / 2];
    add(step,
        fmt::format("as long as most: {} ms on rank {}", base::msText(longest.ms), longest.rank));
  }
  return shown;
}

}  // namespace lockstep::report::html
