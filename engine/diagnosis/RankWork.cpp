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
#include "engine/cost/Sample.h"
#include "engine/trace/Event.h"

namespace lockstep::diagnosis {
namespace {

using trace::EventKind;

// More steps make a mean no surer, and a long run would be all in memory twice.
constexpr std::uint32_t kMostSteps = 512;
constexpr std::size_t kManyRanks = 64;  // to compare one part of a step with

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
  const std::size_t row = placeOf(steps_, step);
  const std::size_t column = placeOf(parts_, part);
  if (row == steps_.size() || steps_[row] != step || column == parts_.size() ||
      parts_[column] != part) {
    return std::nullopt;
  }
  return at(row, column);
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

namespace {

/// What a rank took for one part, asked for steps that ascend.
class PartOfSteps {
 public:
  PartOfSteps(const RankWork& work, const WorkPart& part)
      : work_(&work), column_(placeOf(work.parts(), part)) {
    known_ = column_ < work.parts().size() && work.parts()[column_] == part;
  }

  std::optional<double> next(std::uint32_t step) {
    const std::vector<std::uint32_t>& steps = work_->steps();
    while (row_ < steps.size() && steps[row_] < step) {
      ++row_;
    }
    return known_ && row_ < steps.size() && steps[row_] == step ? work_->at(row_, column_)
                                                                : std::nullopt;
  }

 private:
  const RankWork* work_;
  std::size_t column_;
  std::size_t row_ = 0;
  bool known_ = false;
};

/// What a rank took for one part more than the others.
Excess excessOfPart(const std::vector<RankWork>& work, const RankWork& own, const WorkPart& part) {
  std::vector<PartOfSteps> others;
  for (const RankWork& of : work) {
    if (&of != &own) {
      others.emplace_back(of, part);
    }
  }
  Excess excess{part, {}, {}, 0};
  PartOfSteps mine(own, part);
  for (const std::uint32_t step : own.steps()) {
    const auto ms = mine.next(step);
    std::vector<double> theirs;
    theirs.reserve(others.size());
    for (PartOfSteps& of : others) {
      const auto other = ms ? of.next(step) : std::nullopt;
      if (!other) {
        break;
      }
      theirs.push_back(*other);
    }
    // Where all the others have it, too.
    if (!theirs.empty() && theirs.size() == others.size()) {
      excess.steps.push_back(step);
      excess.ms.push_back(*ms - cost::median(std::move(theirs)).value_or(*ms));
    }
  }
  if (!excess.ms.empty()) {
    excess.meanMs = std::accumulate(excess.ms.begin(), excess.ms.end(), 0.0) /
                    static_cast<double>(excess.ms.size());
  }
  return excess;
}

}  // namespace

std::vector<Excess> excessOf(const std::vector<RankWork>& work, int rank) {
  const auto own =
      std::find_if(work.begin(), work.end(), [&](const RankWork& of) { return of.rank() == rank; });
  std::vector<Excess> all(own == work.end() ? 0 : own->parts().size());
  // What takes long is not that a rank has many parts but that each is compared with many ranks: it
  // is those that make a second thread worth while, then for two parts already.
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  const std::size_t worthwhile = work.size() < kManyRanks ? kNever : 2;
  base::inHalves(all.size(), worthwhile, [&](std::size_t from, std::size_t to) {
    for (std::size_t part = from; part < to; ++part) {
      all[part] = excessOfPart(work, *own, own->parts()[part]);
    }
  });
  std::erase_if(all, [](const Excess& excess) { return excess.ms.empty(); });
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
