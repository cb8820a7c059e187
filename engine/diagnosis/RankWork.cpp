#include "engine/diagnosis/RankWork.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "engine/analysis/SpansByRank.h"
#include "engine/base/InHalves.h"
#include "engine/trace/Event.h"

namespace lockstep::diagnosis {
namespace {

using trace::EventKind;

// More steps make a mean no surer, and a long run would be all in memory twice.
constexpr std::uint32_t kMostSteps = 512;

/// One step of one rank, as its spans tell it.
struct StepSpans {
  bool whole = false;
  std::uint64_t phaseTicks[3] = {0, 0, 0};  // data, forward, optimizer
  std::uint64_t waitsInForward = 0;
  std::uint64_t backwardTicks = 0;  // begin of the last backward
  // By parameter when it was last ready; several of one until readyOf().
  std::vector<std::pair<std::uint32_t, std::uint64_t>> gradients;
};
enum { kData, kForward, kOptimizer };

void take(const trace::SpanRow& span, StepSpans& step) {
  switch (span.kind) {
    case EventKind::kStep:
      step.whole = true;
      break;
    case EventKind::kData:
      step.phaseTicks[kData] += span.durationTicks;
      break;
    case EventKind::kForward:
      step.phaseTicks[kForward] += span.durationTicks;
      break;
    case EventKind::kOptimizer:
      step.phaseTicks[kOptimizer] += span.durationTicks;
      break;
    case EventKind::kBroadcastBuffers:
    case EventKind::kRebuildBuckets:
    case EventKind::kSyncBatchNorm:
      step.waitsInForward += span.durationTicks;
      break;
    case EventKind::kBackward:
      step.backwardTicks = std::max(step.backwardTicks, span.startTicks);
      break;
    case EventKind::kGradientReady:
      step.gradients.emplace_back(static_cast<std::uint32_t>(span.value), span.startTicks);
      break;
    default:
      break;
  }
}

/// The last time that each gradient was ready, by time.
std::vector<std::pair<std::uint64_t, std::uint32_t>> readyOf(StepSpans& step) {
  auto& gradients = step.gradients;
  std::sort(gradients.begin(), gradients.end());
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ready;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (i + 1 == gradients.size() || gradients[i + 1].first != gradients[i].first) {
      ready.emplace_back(gradients[i].second, gradients[i].first);
    }
  }
  std::sort(ready.begin(), ready.end());
  return ready;
}

void addWork(std::uint32_t number, StepSpans& step, double msPerTick, RankWork& work) {
  const auto ms = [&](std::uint64_t ticks) { return static_cast<double>(ticks) * msPerTick; };
  work.set(number, {WorkPart::Kind::kData, 0}, ms(step.phaseTicks[kData]));
  work.set(
      number, {WorkPart::Kind::kForward, 0},
      ms(step.phaseTicks[kForward] - std::min(step.phaseTicks[kForward], step.waitsInForward)));
  work.set(number, {WorkPart::Kind::kOptimizer, 0}, ms(step.phaseTicks[kOptimizer]));
  // Gradients of earlier micro-batches lie before the last backward.
  std::uint64_t before = step.backwardTicks;
  for (const auto& [ticks, parameter] : readyOf(step)) {
    if (before != 0 && ticks >= before) {
      work.set(number, {WorkPart::Kind::kGradient, parameter}, ms(ticks - before));
      before = ticks;
    }
  }
}

/// Where a value stands in a list that ascends, or would stand.
template <typename T>
std::size_t placeOf(const std::vector<T>& sorted, const T& value) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                  sorted.begin());
}

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

template <typename T>
std::size_t placeIn(const std::vector<T>& sorted, const T& value) {
  const std::size_t place = placeOf(sorted, value);
  return place < sorted.size() && sorted[place] == value ? place : kNowhere;
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::size_t RankWork::addedStep(std::uint32_t step) {
  const std::size_t row = placeOf(steps_, step);
  if (row == steps_.size() || steps_[row] != step) {
    steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(row), step);
    ms_.insert(ms_.begin() + static_cast<std::ptrdiff_t>(row * parts_.size()), parts_.size(),
               kNone);
  }
  return row;
}

std::size_t RankWork::addedPart(const WorkPart& part) {
  const std::size_t column = placeOf(parts_, part);
  if (column == parts_.size() || parts_[column] != part) {
    const std::size_t before = parts_.size();
    parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(column), part);
    std::vector<double> wider(steps_.size() * parts_.size(), kNone);
    for (std::size_t i = 0; i < ms_.size(); ++i) {
      const std::size_t old = i % before;
      wider[i / before * parts_.size() + old + (old < column ? 0 : 1)] = ms_[i];
    }
    ms_ = std::move(wider);
  }
  return column;
}

void RankWork::set(std::uint32_t step, const WorkPart& part, double ms) {
  const std::size_t column = addedPart(part);
  ms_[addedStep(step) * parts_.size() + column] = ms;
}

std::optional<double> RankWork::ms(std::uint32_t step, const WorkPart& part) const {
  const std::size_t row = placeIn(steps_, step);
  const std::size_t column = placeIn(parts_, part);
  return row == kNowhere || column == kNowhere ? std::nullopt : at(row, column);
}

std::optional<double> RankWork::at(std::size_t row, std::size_t column) const {
  const double ms = ms_[row * parts_.size() + column];
  return std::isnan(ms) ? std::nullopt : std::optional(ms);
}

std::string_view nameOf(WorkPart::Kind kind) {
  switch (kind) {
    case WorkPart::Kind::kData:
      return "data";
    case WorkPart::Kind::kForward:
      return "forward";
    case WorkPart::Kind::kGradient:
      return "backward";
    case WorkPart::Kind::kOptimizer:
      break;
  }
  return "optimizer";
}

std::string phraseOf(const WorkPart& part, const std::string& parameter) {
  switch (part.kind) {
    case WorkPart::Kind::kData:
      return "in its data";
    case WorkPart::Kind::kForward:
      return "in its forward";
    case WorkPart::Kind::kOptimizer:
      return "in its optimizer";
    case WorkPart::Kind::kGradient:
      break;
  }
  return fmt::format("before the gradient of {}", parameter);
}

std::vector<RankWork> rankWork(const analysis::RunData& data, std::uint32_t firstStep) {
  const std::uint32_t last = data.lastStep();
  const std::set<std::uint32_t> left = data.stepsNotWhole();
  const std::uint32_t first =
      left.empty() ? std::max(firstStep, last - std::min(last, kMostSteps - 1)) : firstStep;
  const analysis::SpansByRank spans(data);
  std::vector<std::optional<RankWork>> ranks(spans.size());  // none: no span of these steps
  base::inHalves(spans.size(), 2, [&](std::size_t from, std::size_t to) {
    for (std::size_t place = from; place < to; ++place) {
      std::map<std::uint32_t, StepSpans> steps;
      StepSpans* step = nullptr;  // of the span before: the next is likely of it too
      std::uint32_t number = 0;
      spans.eachOf(
          place, [](EventKind) { return true; }, first,
          [&](const trace::SpanRow& span) {
            if (left.empty() || !left.contains(span.step)) {
              if (step == nullptr || span.step != number) {
                step = &steps[number = span.step];
              }
              take(span, *step);
            }
          });
      if (steps.empty()) {
        continue;
      }
      while (steps.size() > kMostSteps) {
        steps.erase(steps.begin());
      }
      RankWork& work = ranks[place].emplace(spans.rank(place));
      for (auto& [of, whole] : steps) {
        if (whole.whole) {
          addWork(of, whole, data.clock.nsPerTick / 1e6, work);
        }
      }
    }
  });
  std::vector<RankWork> all;
  for (std::optional<RankWork>& work : ranks) {
    if (work) {
      all.push_back(*std::move(work));
    }
  }
  return all;
}

Excesses::Excesses(const std::vector<RankWork>& work) : work_(work) {
  const std::size_t ranks = work.size();
  if (ranks < 2) {
    return;
  }
  const RankWork& first = work.front();
  const std::size_t parts = first.parts().size();
  // A rank may lack a part or a step that others have.
  std::vector<std::vector<std::size_t>> columns(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const WorkPart& part : first.parts()) {
      columns[rank].push_back(placeIn(work[rank].parts(), part));
    }
  }
  for (const WorkPart& part : first.parts()) {
    parts_.push_back({part, {}});
  }
  std::vector<std::size_t> rows(ranks);  // where each is looked for next: steps ascend
  std::vector<std::vector<double>> ms(parts);
  for (const std::uint32_t step : first.steps()) {
    std::ranges::for_each(ms, &std::vector<double>::clear);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::uint32_t>& steps = work[rank].steps();
      std::size_t& row = rows[rank];
      while (row < steps.size() && steps[row] < step) {
        ++row;
      }
      for (std::size_t part = 0; part < parts && row < steps.size() && steps[row] == step; ++part) {
        const std::size_t column = columns[rank][part];
        if (const auto of = column == kNowhere ? std::nullopt : work[rank].at(row, column)) {
          ms[part].push_back(*of);
        }
      }
    }
    for (std::size_t part = 0; part < parts; ++part) {
      if (ms[part].size() == ranks) {
        parts_[part].steps.push_back(middleOf(step, ms[part]));
      }
    }
  }
}

Excesses::Middle Excesses::middleOf(std::uint32_t step, std::vector<double>& ms) {
  Middle middle{step, {}};
  const std::size_t half = (ms.size() - 1) / 2;  // of the others
  const auto at = ms.begin() + static_cast<std::ptrdiff_t>(half);
  std::ranges::nth_element(ms, at);
  middle.ms[1] = *at;
  middle.ms[0] = half == 0 ? *at : *std::max_element(ms.begin(), at);
  middle.ms[2] = *std::min_element(at + 1, ms.end());
  return middle;
}

double Excesses::middleOfOthers(const Middle& middle, double own) const {
  // Of a sorted list without `own`, what stood behind it has moved up.
  const auto without = [&](std::size_t at) {
    return middle.ms[at] < own ? middle.ms[at] : middle.ms[at + 1];
  };
  const bool oneInTheMiddle = (work_.size() - 1) % 2 == 1;
  return oneInTheMiddle ? without(1) : (without(1) + without(0)) / 2;
}

std::vector<Excess> Excesses::of(int rank) const {
  std::vector<Excess> all;
  const auto own = std::ranges::find(work_, rank, &RankWork::rank);
  for (const Part& part : parts_) {
    Excess excess{part.part, {}, {}, 0};
    for (std::size_t i = 0; own != work_.end() && i < part.steps.size(); ++i) {
      const double ms = *own->ms(part.steps[i].step, part.part);
      excess.steps.push_back(part.steps[i].step);
      excess.ms.push_back(ms - middleOfOthers(part.steps[i], ms));
    }
    if (!excess.ms.empty()) {
      excess.meanMs = std::accumulate(excess.ms.begin(), excess.ms.end(), 0.0) /
                      static_cast<double>(excess.ms.size());
      all.push_back(std::move(excess));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Excess& a, const Excess& b) { return a.meanMs > b.meanMs; });
  return all;
}

std::optional<Period> periodOf(const std::vector<std::uint32_t>& steps,
                               const std::vector<double>& ms) {
  if (steps.empty()) {
    return std::nullopt;
  }
  const double most = *std::max_element(ms.begin(), ms.end());
  std::vector<std::uint32_t> struck;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (ms[i] > most / 2) {
      struck.push_back(steps[i]);
    }
  }
  constexpr std::size_t kFewest = 3;
  if (struck.size() < kFewest || struck.size() * 2 > steps.size()) {
    return std::nullopt;
  }
  const std::uint32_t every = struck[1] - struck[0];
  for (std::size_t i = 1; i < struck.size(); ++i) {
    if (struck[i] - struck[i - 1] != every) {
      return std::nullopt;
    }
  }
  return Period{struck.front(), every};
}

}  // namespace lockstep::diagnosis
