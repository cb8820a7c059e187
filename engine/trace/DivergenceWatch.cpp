#include "engine/trace/DivergenceWatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::trace {
namespace {

/// How many times its lowest value a loss must have reached to have grown.
constexpr double kGrown = 10;

const char* whatIs(double notFinite) {
  return std::isnan(notFinite) ? "NaN" : "infinite";
}

std::string lossText(int rank, const BadLossMessage& loss) {
  std::string text =
      fmt::format("the loss of rank {} is {} at step {}", rank, whatIs(loss.loss), loss.step);
  if (std::isfinite(loss.before)) {
    text += fmt::format(", after {:.4g}", loss.before);
  }
  if (!loss.hook.empty()) {
    text += fmt::format("; hook '{}' made the gradients of the steps before", loss.hook);
  }
  return text;
}

bool grew(const BadLossMessage& loss) {
  return loss.finite > 1 && loss.before >= kGrown * loss.least;
}

}  // namespace

void endAsDiverged(RunInfo& info) {
  if (!info.divergence || (info.state != RunState::kFinished && info.state != RunState::kStopped)) {
    return;
  }
  info.state = RunState::kDiverged;
  if (info.kind == RunKind::kExperiment) {  // an observed job's exit code is its own
    info.exitCode = static_cast<int>(base::ExitCode::kDiverged);
  }
  info.failure = info.divergence->text + (info.failure.empty() ? "" : "; " + info.failure);
}

// Messages of several ranks come in any order. What was first is decided by step, moment and rank,
// never by arrival, so that a repeated run finds the same.
void DivergenceWatch::keep(std::optional<Finding>& kept, Finding finding) {
  if (!kept || finding.place < kept->place) {
    kept = std::move(finding);
  }
}

void DivergenceWatch::take(int rank, const FingerprintMessage& sample) {
  const auto bad = std::find_if(sample.norms.begin(), sample.norms.end(),
                                [](double norm) { return !std::isfinite(norm); });
  if (bad != sample.norms.end()) {
    const std::string name = replicas_.nameOf(static_cast<std::size_t>(bad - sample.norms.begin()));
    keep(parameter_, {{sample.step, Moment::kSample, rank},
                      name,
                      fmt::format("{} of rank {} holds numbers that are not finite at step {}",
                                  name, rank, sample.step)});
  }
  // Hashes are to differ then; a number that is not finite is still no drift.
  if (drifts_) {
    return;
  }
  if (auto difference = replicas_.add(rank, sample)) {
    keep(difference_, {{difference->step, Moment::kSample, difference->rank},
                       replicas_.nameOf(difference->parameter),
                       std::move(difference->text)});
  }
}

void DivergenceWatch::take(int rank, const GradientsMessage& gradients) {
  checked_.emplace(rank, gradients.step);
  for (const GradientsMessage::Bucket& bucket : gradients.buckets) {
    if (bucket.nans + bucket.infinities == 0) {
      continue;
    }
    const std::string name = bucket.parameter ? replicas_.nameOf(*bucket.parameter) : "";
    keep(gradient_, {{gradients.step, Moment::kBackward, rank},
                     name,
                     fmt::format("{} of rank {} holds {} at step {}, before it was averaged",
                                 name.empty() ? "a gradient" : "the gradient of " + name, rank,
                                 bucket.nans > 0 ? "NaN" : "infinities", gradients.step)});
  }
}

void DivergenceWatch::take(int rank, const BadLossMessage& loss) {
  losses_.emplace(rank, loss);
}

void DivergenceWatch::take(int rank, const EvaluationMessage& evaluation) {
  if (!std::isfinite(evaluation.loss)) {
    keep(evaluation_, {{evaluation.step, Moment::kAfter, rank},
                       "",
                       fmt::format("the loss of the evaluation after step {} is {}",
                                   evaluation.step, whatIs(evaluation.loss))});
  }
}

void DivergenceWatch::take(int rank, const SummaryMessage& summary) {
  ends_[rank] = summary;
  if (drifts_ || !comparesHashes_ || ends_.size() < ranks_) {
    return;
  }
  const auto other = std::find_if(ends_.begin(), ends_.end(), [this](const auto& end) {
    return end.second.parameterHash != ends_.begin()->second.parameterHash;
  });
  if (other != ends_.end()) {
    keep(difference_,
         {{other->second.steps, Moment::kSample, other->first},
          "",
          fmt::format("the replicas differ after the last step: the parameters of rank {} are not "
                      "those of rank {}; capture.fingerprint_every finds where that begins",
                      other->first, ends_.begin()->first)});
  }
}

std::optional<RunDivergence> DivergenceWatch::first() const {
  std::optional<Finding> loss;
  for (const auto& [rank, message] : losses_) {
    keep(loss, {{message.step, Moment::kForward, rank}, "", lossText(rank, message)});
  }
  std::optional<Finding> first;
  // Gradients are not among them: they only tell where a divergence began that shows in these.
  for (const auto& finding : {difference_, parameter_, loss, evaluation_}) {
    if (finding) {
      keep(first, *finding);
    }
  }
  if (!first) {
    return std::nullopt;
  }
  if (gradient_) {
    keep(first, *gradient_);
  }
  std::string text = first->text;
  // What users look at is the loss, wherever it began.
  if (loss && loss->place != first->place) {
    text += "; " + loss->text;
  }
  return RunDivergence{first->place.step, first->place.rank, first->parameter, std::move(text)};
}

std::vector<ProblemRow> DivergenceWatch::takeProblems() {
  std::vector<ProblemRow> problems;
  if (const auto divergence = first(); divergence && !told_) {
    told_ = true;
    problems.push_back({0, "error", divergence->rank, divergence->step, divergence->text});
  }
  if (!advised_ && lostToTheLearningRate()) {
    advised_ = true;
    const auto& [rank, loss] = *losses_.begin();
    const std::string how =
        grew(loss)
            ? fmt::format("the loss of rank {} grew from {:.4g} to {:.4g} before it was lost", rank,
                          loss.least, loss.before)
            : "the first update of the parameters lost the loss";
    const char* const unless = grew(loss) || gradientsWereFinite()
                                   ? ""
                                   : ", if its gradients were finite "
                                     "(capture.gradient_check_every = 1 tells)";
    problems.push_back(
        {0, "warning", rank, loss.step, how + ": lower optimizer.learning_rate" + unless});
  }
  return problems;
}

bool DivergenceWatch::gradientsWereFinite() const {
  return !gradient_ && std::all_of(losses_.begin(), losses_.end(), [this](const auto& loss) {
    const auto checked = checked_.find(loss.first);
    return checked != checked_.end() && checked->second + 1 == loss.second.step;
  });
}

bool DivergenceWatch::lostToTheLearningRate() const {
  // One rank alone, or replicas that differ, point to data or to a fault of that rank.
  if (losses_.size() < ranks_ || difference_) {
    return false;
  }
  const auto all = [this](auto&& fits) {
    return std::all_of(losses_.begin(), losses_.end(),
                       [&](const auto& loss) { return fits(loss.second); });
  };
  return all(grew) ||
         (!gradient_ && all([](const BadLossMessage& loss) { return loss.finite == 1; }));
}

}  // namespace lockstep::trace
