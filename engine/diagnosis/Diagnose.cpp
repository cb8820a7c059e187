#include "engine/diagnosis/Diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/analysis/Lateness.h"
#include "engine/base/NumberText.h"
#include "engine/base/StartingLarge.h"
#include "engine/diagnosis/Rule.h"

namespace lockstep::diagnosis {
namespace {

constexpr double kMuchExposed = 0.1;  // of a step: what a reader wants explained

double costOf(const Finding& finding) {
  return finding.savingMs ? finding.savingMs->mean : 0;
}

/// Whether it is a note that knows no more than what something takes at most: it may take nothing.
bool isBound(const Finding& finding) {
  return finding.weight == Weight::kNote && finding.atMost;
}

/// Where it stands among the findings; those that are equal stand as their rules do.
std::tuple<Weight, bool, double> orderOf(const Finding& finding) {
  return {finding.weight, isBound(finding), -costOf(finding)};
}

std::string savingText(const Finding& finding) {
  if (!finding.savingMs) {
    return "";
  }
  const cost::MeanInterval& saving = *finding.savingMs;
  return fmt::format("Without it a step takes {}{} ms less ({}).", finding.atMost ? "at most " : "",
                     base::msText(saving.mean), base::msRangeText(saving.low, saving.high));
}

bool canTell(const Evidence& evidence) {
  return evidence.measuredSteps >= cost::kFewestForBootstrap;
}

bool muchExposed(const Evidence& evidence) {
  return canTell(evidence) && evidence.run.exposedMs.value_or(0) > 0 &&
         *evidence.run.exposedMs >= kMuchExposed * evidence.stepMs;
}

std::string nothingStandsOut(const Evidence& evidence) {
  if (muchExposed(evidence)) {
    return fmt::format(
        "No rank, link or setting stands out in {} measured steps of {} ms, and {} of a step is "
        "exposed.",
        evidence.measuredSteps, base::msText(evidence.stepMs),
        base::percentText(100 * *evidence.run.exposedMs / evidence.stepMs, 0));
  }
  return fmt::format("Nothing stands out in {} measured steps of {} ms.", evidence.measuredSteps,
                     base::msText(evidence.stepMs));
}

std::string nothingOf(const Evidence& evidence) {
  if (!canTell(evidence)) {
    return fmt::format(
        "This run cannot tell, because only {} of its steps are measured, and {} are needed to "
        "tell "
        "a cause from chance.",
        evidence.measuredSteps, cost::kFewestForBootstrap);
  }
  std::string text = nothingStandsOut(evidence);
  const std::vector<double> waits = evidence.longestCoreWaitsMs().values;
  const double waitMs = std::accumulate(waits.begin(), waits.end(), 0.0) /
                        static_cast<double>(std::max<std::size_t>(waits.size(), 1));
  if (waitMs > kWorthSpeakingOf * evidence.stepMs) {
    text += fmt::format(
        " Threads had no core for {} ms a step: this run cannot tell a rank that is late by "
        "less than {} ms.",
        base::msText(waitMs), base::msText(analysis::kCoreWaits * waitMs));
  }
  if (!evidence.forecaster.ok()) {
    text += fmt::format(" Whether other buckets would be faster this run cannot tell, because {}.",
                        evidence.forecaster.error().what);
  }
  return text;
}

}  // namespace

std::string_view name(Weight weight) {
  switch (weight) {
    case Weight::kWrong:
      return "wrong";
    case Weight::kCost:
      return "cost";
    case Weight::kNote:
      break;
  }
  return "note";
}

Diagnosis diagnose(const Evidence& evidence) {
  Diagnosis diagnosis;
  diagnosis.canTell = canTell(evidence);
  diagnosis.soFar = evidence.info.state == trace::RunState::kStarting ||
                    evidence.info.state == trace::RunState::kRunning;
  diagnosis.stepMs = evidence.stepMs;
  diagnosis.measuredSteps = evidence.measuredSteps;
  for (const Rule& rule : rules()) {
    for (Finding& finding : rule.judge(evidence)) {
      finding.rule = rule.name;
      if (finding.place.parameter) {
        finding.place.parameterName = evidence.parameter(*finding.place.parameter);
      }
      if (!evidence.experiment) {
        finding.settings.clear();  // of a job of PyTorch there is none to change
      }
      diagnosis.findings.push_back(std::move(finding));
    }
  }
  std::ranges::stable_sort(diagnosis.findings, {}, orderOf);
  if (diagnosis.findings.empty()) {
    diagnosis.nothing = nothingOf(evidence);
    diagnosis.muchExposed = muchExposed(evidence);
  }
  diagnosis.verdict = verdictOf(evidence);
  return diagnosis;
}

std::string headlineOf(const Finding& finding) {
  if (!finding.savingMs) {
    return finding.title;
  }
  return fmt::format("{}: {}{} ms a step ({})", finding.title, finding.atMost ? "at most " : "",
                     base::msText(finding.savingMs->mean),
                     base::msRangeText(finding.savingMs->low, finding.savingMs->high));
}

std::string textOf(const Diagnosis& diagnosis) {
  std::string text = diagnosis.soFar ? "The run goes on. So far:\n" : "";
  if (diagnosis.findings.empty()) {
    return text + diagnosis.nothing + "\n";
  }
  for (std::size_t i = 0; i < diagnosis.findings.size(); ++i) {
    const Finding& finding = diagnosis.findings[i];
    text += fmt::format("{}. {}\n", i + 1, base::startingLarge(finding.title));
    for (const std::string& line : {finding.sentence, savingText(finding), finding.remedy}) {
      text += line.empty() ? "" : "   " + line + "\n";
    }
  }
  return text;
}

}  // namespace lockstep::diagnosis
