#include "ui/views/overlap/OverlapContent.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "engine/cost/Sample.h"
#include "engine/diagnosis/UnlikeRanks.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {
namespace {

using analysis::RankOverlap;
using analysis::StepOverlap;

// A few long steps, such as those that load data, would make all others flat: the axis fits 95 % of
// them, and a mark tells of those that go on beyond it.
constexpr double kStepsThatFit = 0.95;
constexpr double kRoomAbove = 1.15;

double scaleOf(const std::vector<StepOverlap>& steps, std::uint32_t firstMeasured) {
  std::vector<double> lengths;
  for (const StepOverlap& step : steps) {
    if (step.times.step >= firstMeasured) {
      lengths.push_back(step.times.stepMs);
    }
  }
  // Only warm-up so far: better an axis for that than none.
  if (lengths.empty()) {
    for (const StepOverlap& step : steps) {
      lengths.push_back(step.times.stepMs);
    }
  }
  if (lengths.empty()) {
    return 1;
  }
  const auto at = static_cast<std::ptrdiff_t>(
      std::floor(kStepsThatFit * static_cast<double>(lengths.size() - 1)));
  std::nth_element(lengths.begin(), lengths.begin() + at, lengths.end());
  return std::max(1e-6, lengths[static_cast<std::size_t>(at)] * kRoomAbove);
}

void addRanks(OverlapContent& content) {
  // Steps come by rank, then start (OverlapContent::steps), so each rank is one stretch of them.
  for (std::size_t i = 0; i < content.steps.size(); ++i) {
    const StepOverlap& step = content.steps[i];
    if (content.ranks.empty() || content.ranks.back().rank != step.times.rank) {
      OverlapContent::Rank& rank = content.ranks.emplace_back();
      rank.rank = step.times.rank;
      rank.first = i;
      rank.sums.push_back({});
    }
    OverlapContent::Rank& rank = content.ranks.back();
    rank.count += 1;
    rank.numbers.push_back(step.times.step);
    // Sums before each step, so that the mean of any stretch is one difference
    // (OverlapScene::barAt): of 100,000 steps on 1000 px a bar stands for 512.
    OverlapParts sum = rank.sums.back();
    const OverlapParts parts = partsOf(step);
    for (std::size_t part = 0; part < sum.size(); ++part) {
      sum[part] += parts[part];
    }
    rank.sums.push_back(sum);
    content.firstStep = i == 0 ? step.times.step : std::min(content.firstStep, step.times.step);
    content.lastStep = std::max(content.lastStep, step.times.step);
  }
}

std::optional<RankOverlap> find(const std::vector<RankOverlap>& ranks, int rank) {
  const auto of = std::ranges::find(ranks, rank, &RankOverlap::rank);
  return of == ranks.end() ? std::nullopt : std::optional(*of);
}

void addSpreads(OverlapContent& content) {
  std::map<std::uint32_t, std::vector<std::pair<double, int>>> exposed;  // by step
  for (const StepOverlap& step : content.steps) {
    exposed[step.times.step].emplace_back(step.times.exposedMs, step.times.rank);
  }
  double most = 0;
  for (auto& [step, ofRanks] : exposed) {
    std::ranges::sort(ofRanks);
    std::vector<double> sorted;
    sorted.reserve(ofRanks.size());
    for (const auto& [ms, rank] : ofRanks) {
      sorted.push_back(ms);
    }
    content.spreads.push_back({.step = step,
                               .least = sorted.front(),
                               .quarter = cost::sortedQuantile(sorted, 0.25),
                               .half = cost::sortedQuantile(sorted, 0.5),
                               .threeQuarters = cost::sortedQuantile(sorted, 0.75),
                               .most = sorted.back(),
                               .worst = ofRanks.back().second});
    if (step >= content.warmUp.firstMeasured || most <= 0) {
      most = std::max(most, sorted.back());
    }
  }
  content.spreadMs = std::max(1e-6, most * kRoomAbove);
}

constexpr std::size_t kUnlikeExamples = 2;

const char* whyOf(diagnosis::Unlikeness kind) {
  switch (kind) {
    case diagnosis::Unlikeness::kComputing:
      return "computes longer";
    case diagnosis::Unlikeness::kTransfer:
      return "transfers longer";
    case diagnosis::Unlikeness::kLate:
      return "late";
  }
  return "";
}

// Those that are unlike the rest, the one with the most exposed time, and the middle one of all to
// set them against.
void addExamples(OverlapContent& content, const analysis::RunAnalysis& run) {
  const auto add = [&](int rank, const char* why) {
    const bool shown = std::ranges::find(content.examples, rank, &OverlapContent::Example::rank) !=
                       content.examples.end();
    if (!shown && content.rank(rank) != nullptr) {
      content.examples.push_back({rank, why});
    }
  };
  // By themselves: which host they are on changes nothing of what they do.
  for (const diagnosis::UnlikeRanks& unlike : diagnosis::rankLikeness(run, {}, {}).unlike) {
    if (content.examples.size() < kUnlikeExamples) {
      add(unlike.ranks.front(), whyOf(unlike.kind));
    }
  }
  if (run.exposedRank) {
    add(*run.exposedRank, "most exposed");
  }
  std::vector<std::pair<double, int>> exposed;
  for (const OverlapContent::Rank& rank : content.ranks) {
    if (rank.measured && rank.measured->exposedMs) {
      exposed.emplace_back(*rank.measured->exposedMs, rank.rank);
    }
  }
  std::ranges::sort(exposed);
  if (!exposed.empty()) {
    add(exposed[exposed.size() / 2].second, "middle rank");
  } else if (!content.ranks.empty()) {
    add(content.ranks.front().rank, "first rank");
  }
}

}  // namespace

// The order of OverlapPart, from the bottom up.
OverlapParts partsOf(const StepOverlap& step) {
  return {step.aloneMs,   step.times.overlapMs, step.otherMs,    step.noCoreMs,
          step.waitingMs, step.transferMs,      step.undividedMs};
}

const OverlapContent::Rank* OverlapContent::rank(int number) const {
  const auto at = std::ranges::lower_bound(ranks, number, {}, &Rank::rank);
  return at == ranks.end() || at->rank != number ? nullptr : &*at;
}

const OverlapContent::Spread* OverlapContent::spreadOf(std::uint32_t step) const {
  const auto at = std::ranges::lower_bound(spreads, step, {}, &Spread::step);
  return at == spreads.end() || at->step != step ? nullptr : &*at;
}

const StepOverlap* OverlapContent::step(int rank, std::uint32_t number) const {
  const Rank* of = this->rank(rank);
  if (of == nullptr) {
    return nullptr;
  }
  const auto at = std::lower_bound(of->numbers.begin(), of->numbers.end(), number);
  return at == of->numbers.end() || *at != number
             ? nullptr
             : &steps[of->first + static_cast<std::size_t>(at - of->numbers.begin())];
}

const std::vector<analysis::TailReason>& OverlapContent::reasonsOf(
    std::optional<int> number) const {
  const Rank* of = number ? rank(*number) : nullptr;
  return of == nullptr ? reasons : of->reasons;
}

std::size_t incompleteSteps(const std::vector<StepOverlap>& steps, std::uint32_t first) {
  std::set<std::uint32_t> incomplete;  // by number, once for all ranks
  for (const StepOverlap& step : steps) {
    if (step.times.incomplete && step.times.step >= first) {
      incomplete.insert(step.times.step);
    }
  }
  return incomplete.size();
}

std::shared_ptr<const OverlapContent> overlapContent(const AnalysedRun& run) {
  auto content = std::make_shared<OverlapContent>();
  const std::uint32_t firstMeasured = run.analysis.warmUp.firstMeasured;
  content->steps = analysis::stepOverlaps(run.data, run.analysis);
  content->warmUp = run.analysis.warmUp;
  content->overlapPercent = run.analysis.overlapPercent;
  content->exposedMs = run.analysis.exposedMs;
  content->scaleMs = scaleOf(content->steps, firstMeasured);
  content->reasons = analysis::tailReasons(content->steps, firstMeasured);
  addRanks(*content);
  content->incompleteSteps = incompleteSteps(content->steps, firstMeasured);
  const auto measured = analysis::rankOverlaps(content->steps, firstMeasured);
  // With the warm-up as well, for the card of a rank: what it would have made of the figures.
  const auto all = analysis::rankOverlaps(content->steps, 0);
  for (OverlapContent::Rank& rank : content->ranks) {
    rank.measured = find(measured, rank.rank);
    rank.all = find(all, rank.rank);
    rank.reasons = analysis::tailReasons(std::span(content->steps).subspan(rank.first, rank.count),
                                         firstMeasured, rank.rank);
  }
  if (content->ranks.size() > kFewRanks) {
    addSpreads(*content);
    addExamples(*content, run.analysis);
  }
  return content;
}

}  // namespace lockstep::ui
