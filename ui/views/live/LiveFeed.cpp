#include "ui/views/live/LiveFeed.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/experiment/Parse.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kPaceOf = 5;  // iterations
constexpr double kPatience = 3;     // times the longest of them

/// The last iterations of a rank, each from the end of the one before it.
struct Pace {
  double usualNs = 0;  ///< the middle one
  double longestNs = 0;
};

Pace paceOf(const std::vector<StepSpan>& steps) {
  std::vector<double> lengths;
  for (std::size_t i = steps.size() - std::min(steps.size(), kPaceOf); i < steps.size(); ++i) {
    lengths.push_back(steps[i].endNs - (i == 0 ? steps[i].startNs : steps[i - 1].endNs));
  }
  std::ranges::sort(lengths);
  return {lengths[lengths.size() / 2], lengths.back()};
}

}  // namespace

std::vector<double> LiveFeed::within(TimeRange range, analysis::Course course) const {
  return analysed_ == nullptr
             ? std::vector<double>()
             : analysis::courseOf(analysed_->analysis, course,
                                  {model_->toTicks(range.startNs), model_->toTicks(range.endNs)});
}

void LiveFeed::setModel(const RunModel* model) {
  *this = LiveFeed();
  model_ = model;
}

void LiveFeed::update(std::shared_ptr<const AnalysedRun> analysed) {
  if (model_ == nullptr) {
    return;
  }
  readExperiment();
  takeSteps();
  if (analysed != nullptr) {
    analysed_ = std::move(analysed);
  }
}

void LiveFeed::takeSteps() {
  for (int rank = static_cast<int>(ranks_.size()); rank < model_->rankCount(); ++rank) {
    ranks_.push_back({rank, {}});
  }
  for (Rank& rank : ranks_) {
    // A better clock moves all times: where the last step is not where it was, all are taken anew.
    const auto again =
        rank.steps.empty() ? std::nullopt : model_->step(rank.rank, rank.steps.back().step);
    if (!again || again->startNs != rank.steps.back().startNs) {
      rank.steps.clear();
    }
    if (rank.steps.size() == model_->stepCount(rank.rank)) {
      continue;
    }
    const double from = rank.steps.empty() ? model_->extent().startNs : rank.steps.back().startNs;
    // The last one taken comes again.
    for (const StepSpan& step : model_->steps(rank.rank, {from, model_->extent().endNs + 1})) {
      if (rank.steps.empty() || step.startNs > rank.steps.back().startNs) {
        rank.steps.push_back(step);
      }
    }
  }
}

void LiveFeed::readExperiment() {
  if (model_->info().experimentToml.empty() || model_->info().experimentToml == experiment_) {
    return;
  }
  experiment_ = model_->info().experimentToml;
  // A resolved experiment holds absolute paths alone; the folder changes nothing.
  const auto parsed = experiment::parseText(experiment_, "run", "/");
  if (parsed.mistakes.empty()) {  // else of another version, and the experiment holds defaults
    samplesAStep_ = static_cast<double>(parsed.experiment.data.batchSize) *
                    std::max(1, model_->info().worldSize);
  }
}

TimeRange LiveFeed::steps() const {
  TimeRange all{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
  for (const Rank& rank : ranks_) {
    if (!rank.steps.empty()) {
      all.startNs = std::min(all.startNs, rank.steps.front().startNs);
      all.endNs = std::max(all.endNs, rank.steps.back().endNs);
    }
  }
  return all.empty() ? TimeRange{} : all;
}

std::optional<double> LiveFeed::stepsPerSecond(const Rank& rank, TimeRange within) {
  if (rank.steps.empty() || within.empty()) {
    return std::nullopt;
  }
  const auto endsBefore = [](const StepSpan& step, double ns) { return step.endNs < ns; };
  const auto begin =
      std::lower_bound(rank.steps.begin(), rank.steps.end(), within.startNs, endsBefore);
  const auto end = std::lower_bound(begin, rank.steps.end(), within.endNs, endsBefore);
  if (end - begin >= 2) {
    // From end to end, so that no part of an iteration is counted as a whole.
    const double ns = std::prev(end)->endNs - begin->endNs;
    return ns > 0 ? static_cast<double>(end - begin - 1) * 1e9 / ns : 0;
  }
  // Slower than the stretch is long: the iteration that covers its middle tells.
  const double middle = (within.startNs + within.endNs) / 2;
  const auto at = std::lower_bound(rank.steps.begin(), rank.steps.end(), middle, endsBefore);
  if (at != rank.steps.end() && at->startNs <= middle && at->endNs > at->startNs) {
    return 1e9 / (at->endNs - at->startNs);
  }
  if (at == rank.steps.end() && begin == end) {
    const Pace pace = paceOf(rank.steps);
    if (middle - rank.steps.back().endNs < kPatience * pace.longestNs) {
      return 1e9 / std::max(1.0, pace.usualNs);
    }
  }
  // No end within it, nor an iteration over its middle: the rank stands still. With one end that
  // iteration tells.
  return begin == end ? std::optional(0.0)
                      : std::optional(1e9 / std::max(1.0, begin->endNs - begin->startNs));
}

std::optional<double> LiveFeed::stepsPerSecond(TimeRange within) const {
  std::optional<double> slowest;
  for (const Rank& rank : ranks_) {
    // Ranks that know nothing yet do not slow the others down.
    if (const auto rate = stepsPerSecond(rank, within)) {
      slowest = std::min(slowest.value_or(*rate), *rate);
    }
  }
  return slowest;
}

}  // namespace lockstep::ui
