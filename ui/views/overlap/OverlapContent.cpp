#include "ui/views/overlap/OverlapContent.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "engine/base/FreedMemory.h"
#include "engine/base/InHalves.h"
#include "engine/cost/Sample.h"
#include "engine/diagnosis/UnlikeRanks.h"
#include "ui/model/ViewState.h"
#include "ui/views/overlap/OverlapWords.h"

namespace lockstep::ui {
namespace {

using analysis::RankOverlap;
using analysis::StepOverlap;

// A few long steps, such as those that load data, would make all others flat: the axis fits 95 % of
// them, and a mark tells of those that go on beyond it.
constexpr double kStepsThatFit = 0.95;
constexpr double kRoomAbove = 1.15;
constexpr std::size_t kRanksWorthTwoThreads = 64;

std::optional<RankOverlap> find(const std::vector<RankOverlap>& ranks, int rank) {
  const auto of = std::ranges::find(ranks, rank, &RankOverlap::rank);
  return of == ranks.end() ? std::nullopt : std::optional(*of);
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
void addExamples(OverlapContent& content, const AnalysedRun& of) {
  const analysis::RunAnalysis& run = of.analysis;
  const auto add = [&](int rank, const char* why) {
    const bool shown = std::ranges::find(content.examples, rank, &OverlapContent::Example::rank) !=
                       content.examples.end();
    if (!shown && content.rank(rank) != nullptr) {
      content.examples.push_back({rank, why});
    }
  };
  for (const diagnosis::UnlikeRanks& unlike : of.likeness().unlike) {
    for (const int rank : unlike.ranks) {  // of a host several
      if (content.examples.size() < kUnlikeExamples) {
        add(rank, whyOf(unlike.kind));
      }
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

/// Of steps, of which it is asked how long those are that fit.
analysis::SortedValues noLengths() {
  return analysis::SortedValues::marking({kStepsThatFit});
}

std::vector<const StepOverlap*> stepsOf(const OverlapContent& content) {
  std::vector<const StepOverlap*> steps;
  steps.reserve(content.rows);
  for (const OverlapContent::Rank& rank : content.ranks) {
    for (const StepOverlap& step : rank.steps) {
      steps.push_back(&step);
    }
  }
  return steps;
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

std::size_t OverlapContent::Rank::firstFrom(std::uint64_t number) const {
  return run::firstWhere(steps, [&](const StepOverlap& step) { return step.times.step >= number; });
}

std::size_t OverlapContent::firstSpreadFrom(std::uint64_t step) const {
  return run::firstWhere(spreads, [&](const Spread& of) { return of.step >= step; });
}

const OverlapContent::Spread* OverlapContent::spreadOf(std::uint32_t step) const {
  const std::size_t at = firstSpreadFrom(step);
  return at == spreads.size() || spreads[at].step != step ? nullptr : &spreads[at];
}

const StepOverlap& OverlapContent::at(std::size_t row) const {
  const auto rank = std::prev(std::ranges::upper_bound(ranks, row, {}, &Rank::first));
  return rank->steps[row - rank->first];
}

std::optional<std::size_t> OverlapContent::rowOf(int rank, std::uint32_t number) const {
  const Rank* of = this->rank(rank);
  const std::size_t at = of == nullptr ? 0 : of->firstFrom(number);
  return of == nullptr || at == of->steps.size() || of->number(at) != number
             ? std::nullopt
             : std::optional(of->first + at);
}

const std::vector<analysis::TailReason>& OverlapContent::reasonsOf(
    std::optional<int> number) const {
  const Rank* of = number ? rank(*number) : nullptr;
  return of == nullptr ? reasons : of->reasons;
}

void GrowingOverlapContent::Parts::add(std::vector<StepOverlap> steps) {
  measured.add(steps);
  all.add(steps);
  std::vector<const StepOverlap*> added;
  added.reserve(steps.size());
  put(std::move(steps), added);
  look(added);
}

// Each rank's list is given back as soon as its steps stand in the content: with its causes a step
// takes half a kilobyte.
void GrowingOverlapContent::Parts::add(std::vector<std::vector<StepOverlap>> ranks) {
  std::vector<const StepOverlap*> added;
  for (std::vector<StepOverlap>& steps : ranks) {
    put(std::exchange(steps, {}), added);
  }
  base::giveBackFreedMemory();
  look(added);
}

/// Puts steps where they stay, and adds where that is.
void GrowingOverlapContent::Parts::put(std::vector<StepOverlap> steps,
                                       std::vector<const StepOverlap*>& added) {
  OverlapContent::Rank* rank = nullptr;  // of the step before
  for (StepOverlap& step : steps) {
    if (rank == nullptr || rank->rank != step.times.rank) {
      auto at =
          std::ranges::lower_bound(content.ranks, step.times.rank, {}, &OverlapContent::Rank::rank);
      if (at == content.ranks.end() || at->rank != step.times.rank) {
        at = content.ranks.insert(at, OverlapContent::Rank());
        at->rank = step.times.rank;
        at->sums.push_back({});
      }
      rank = &*at;
    }
    // Sums before each step, so that the mean of any stretch is one difference
    // (OverlapScene::barAt): of 100,000 steps on 1000 px a bar stands for 512.
    OverlapParts sum = rank->sums.back();
    const OverlapParts parts = partsOf(step);
    for (std::size_t part = 0; part < sum.size(); ++part) {
      sum[part] += parts[part];
    }
    rank->sums.push_back(sum);
    rank->steps.push_back(std::move(step));
    added.push_back(&rank->steps.back());
  }
}

/// Takes what is said of steps that are there now; they are by rank.
void GrowingOverlapContent::Parts::look(const std::vector<const StepOverlap*>& added) {
  const std::uint32_t firstMeasured = content.warmUp.firstMeasured;
  std::set<std::uint32_t> incomplete;
  for (const StepOverlap* step : added) {
    const std::uint32_t number = step->times.step;
    content.firstStep = content.rows == 0 ? number : std::min(content.firstStep, number);
    content.lastStep = std::max(content.lastStep, number);
    content.rows += 1;
    if (number >= firstMeasured) {
      lengths.push_back(step->times.stepMs);
      if (step->times.incomplete) {
        incomplete.insert(number);
      }
    }
  }
  content.incompleteSteps += incomplete.size();
  reasons.add(added, firstMeasured);
  std::vector<std::pair<analysis::TailSums*, std::span<const StepOverlap* const>>> ofRanks;
  for (auto at = added.begin(); at != added.end();) {
    const int rank = (*at)->times.rank;
    const auto end = std::find_if(
        at, added.end(), [rank](const StepOverlap* step) { return step->times.rank != rank; });
    ofRanks.emplace_back(&reasonsOf[rank], std::span(at, end));
    at = end;
  }
  base::inHalves(ofRanks.size(), kRanksWorthTwoThreads, [&](std::size_t from, std::size_t to) {
    for (std::size_t rank = from; rank < to; ++rank) {
      ofRanks[rank].first->add(ofRanks[rank].second, firstMeasured);
    }
  });
  addSpreads(added);
}

// Of a run of few, too: a live run may come to have many.
void GrowingOverlapContent::Parts::addSpreads(const std::vector<const StepOverlap*>& steps) {
  std::vector<std::tuple<std::uint32_t, double, int>> exposed;
  exposed.reserve(steps.size());
  for (const StepOverlap* step : steps) {
    exposed.emplace_back(step->times.step, step->times.exposedMs, step->times.rank);
  }
  std::ranges::sort(exposed);
  std::vector<double> sorted;  // of one step
  for (std::size_t i = 0; i < exposed.size(); ++i) {
    const auto& [step, ms, rank] = exposed[i];
    sorted.push_back(ms);
    if (i + 1 < exposed.size() && std::get<0>(exposed[i + 1]) == step) {
      continue;
    }
    spreads.push_back({.step = step,
                       .least = sorted.front(),
                       .quarter = cost::sortedQuantile(sorted, 0.25),
                       .half = cost::sortedQuantile(sorted, 0.5),
                       .threeQuarters = cost::sortedQuantile(sorted, 0.75),
                       .most = ms,
                       .worst = rank});
    if (step >= content.warmUp.firstMeasured || mostExposed <= 0) {
      mostExposed = std::max(mostExposed, ms);
    }
    sorted.clear();
  }
}

/// What is shown of all of them. `known`: lengths of measured steps that are not in `parts`.
/// `whole`: headroom was left out, and which of it is wanted.
std::shared_ptr<const OverlapContent> GrowingOverlapContent::finished(
    Parts parts, const analysis::SortedValues& known, const AnalysedRun& run,
    std::optional<RankMedians> whole) {
  OverlapContent& content = parts.content;
  std::size_t first = 0;
  for (OverlapContent::Rank& rank : content.ranks) {
    rank.first = std::exchange(first, first + rank.steps.size());
  }
  content.warmUp = run.analysis.warmUp;
  content.headline = overlap_words::headline(run.analysis);
  analysis::SortedValues lengths = known.with(std::move(parts.lengths));
  if (lengths.size() == 0) {
    // Only warm-up so far: better an axis for that than none.
    std::vector<double> all;
    for (std::size_t row = 0; row < content.rows; ++row) {
      all.push_back(content.at(row).times.stepMs);
    }
    lengths.add(std::move(all));
  }
  if (lengths.size() > 0) {
    const auto at =
        static_cast<std::size_t>(kStepsThatFit * static_cast<double>(lengths.size() - 1));
    content.scaleMs = std::max(1e-6, lengths.at(at) * kRoomAbove);
  }
  content.reasons = parts.reasons.reasons();
  const auto medians = [&](const analysis::HeadroomSamples& samples, std::uint32_t from) {
    return whole ? analysis::HeadroomSamples::ofAll(stepsOf(content), from) : samples.medians();
  };
  const auto measured = medians(parts.measured, content.warmUp.firstMeasured);
  // With the warm-up as well, for the card of a rank: what it would have made of the figures.
  const auto all =
      whole == RankMedians::kMeasuredAlone ? std::vector<RankOverlap>() : medians(parts.all, 0);
  for (OverlapContent::Rank& rank : content.ranks) {
    rank.measured = find(measured, rank.rank);
    rank.all = find(all, rank.rank);
    rank.reasons = parts.reasonsOf[rank.rank].reasons();
  }
  if (content.ranks.size() > kFewRanks) {
    content.spreads = std::move(parts.spreads);
    content.spreadMs = std::max(1e-6, parts.mostExposed * kRoomAbove);
    addExamples(content, run);
  }
  return std::make_shared<const OverlapContent>(std::move(content));
}

std::shared_ptr<const OverlapContent> GrowingOverlapContent::refresh(const AnalysedRun& run) {
  const std::lock_guard lock(mutex_);
  if (!run.analysis.closed.more) {
    // All is made anew once it has ended, and nothing is kept.
    overlaps_ = analysis::GrowingOverlaps();
    closed_ = Parts();
    lengths_ = analysis::SortedValues();
    return overlapContent(run, analysis::rankStepOverlaps(run.data, run.analysis),
                          RankMedians::kBoth);
  }
  analysis::OverlapNews news = overlaps_.refresh(run.data, run.analysis);
  if (news.anew) {
    closed_ = Parts(run.analysis.warmUp);
    lengths_ = noLengths();
  }
  closed_.add(std::move(news.closed));
  closed_.measured.settle();
  closed_.all.settle();
  lengths_.add(std::exchange(closed_.lengths, {}));
  Parts parts = closed_;
  parts.add(std::move(news.open));
  return finished(std::move(parts), lengths_, run, std::nullopt);
}

std::shared_ptr<const OverlapContent> overlapContent(const AnalysedRun& run) {
  return GrowingOverlapContent().refresh(run);
}

std::shared_ptr<const OverlapContent> overlapContent(const AnalysedRun& run,
                                                     std::vector<std::vector<StepOverlap>> steps,
                                                     RankMedians medians) {
  GrowingOverlapContent::Parts parts(run.analysis.warmUp);
  parts.add(std::move(steps));
  return GrowingOverlapContent::finished(std::move(parts), noLengths(), run, medians);
}

}  // namespace lockstep::ui
