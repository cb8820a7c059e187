#include "engine/diagnosis/RankWork.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "engine/cost/Sample.h"
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
  std::uint64_t backwardTicks = 0;                   // begin of the last backward
  std::map<std::uint32_t, std::uint64_t> gradients;  // by parameter: when it was last ready
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
    case EventKind::kGradientReady: {
      std::uint64_t& ready = step.gradients[static_cast<std::uint32_t>(span.value)];
      ready = std::max(ready, span.startTicks);
      break;
    }
    default:
      break;
  }
}

WorkMs workOf(const StepSpans& step, double msPerTick) {
  const auto ms = [&](std::uint64_t ticks) { return static_cast<double>(ticks) * msPerTick; };
  WorkMs work;
  work[{WorkPart::Kind::kData, 0}] = ms(step.phaseTicks[kData]);
  work[{WorkPart::Kind::kForward, 0}] =
      ms(step.phaseTicks[kForward] - std::min(step.phaseTicks[kForward], step.waitsInForward));
  work[{WorkPart::Kind::kOptimizer, 0}] = ms(step.phaseTicks[kOptimizer]);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ready;
  for (const auto& [parameter, ticks] : step.gradients) {
    ready.emplace_back(ticks, parameter);
  }
  std::sort(ready.begin(), ready.end());
  // Gradients of earlier micro-batches lie before the last backward.
  std::uint64_t before = step.backwardTicks;
  for (const auto& [ticks, parameter] : ready) {
    if (before != 0 && ticks >= before) {
      work[{WorkPart::Kind::kGradient, parameter}] = ms(ticks - before);
      before = ticks;
    }
  }
  return work;
}

}  // namespace

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
  std::map<int, std::map<std::uint32_t, StepSpans>> ranks;
  data.eachSpanOf([](EventKind) { return true; }, first,
                  [&](int rank, const trace::SpanRow& span) {
                    if (!left.contains(span.step)) {
                      take(span, ranks[rank][span.step]);
                    }
                  });
  std::vector<RankWork> all;
  for (auto& [rank, steps] : ranks) {
    while (steps.size() > kMostSteps) {
      steps.erase(steps.begin());
    }
    RankWork& work = all.emplace_back();
    work.rank = rank;
    for (const auto& [number, step] : steps) {
      if (step.whole) {
        work.steps[number] = workOf(step, data.clock.nsPerTick / 1e6);
      }
    }
  }
  return all;
}

std::vector<Excess> excessOf(const std::vector<RankWork>& work, int rank) {
  const auto own =
      std::find_if(work.begin(), work.end(), [&](const RankWork& of) { return of.rank == rank; });
  std::map<WorkPart, Excess> parts;
  for (const auto& [number, ownMs] : own == work.end() ? decltype(own->steps){} : own->steps) {
    std::vector<const WorkMs*> others;
    for (const RankWork& of : work) {
      const auto step = of.steps.find(number);
      if (of.rank != rank && step != of.steps.end()) {
        others.push_back(&step->second);
      }
    }
    if (others.empty() || others.size() + 1 != work.size()) {
      continue;
    }
    for (const auto& [part, ms] : ownMs) {
      std::vector<double> theirs;
      for (const WorkMs* other : others) {
        if (const auto found = other->find(part); found != other->end()) {
          theirs.push_back(found->second);
        }
      }
      if (theirs.size() == others.size()) {
        Excess& excess = parts[part];
        excess.part = part;
        excess.steps.push_back(number);
        excess.ms.push_back(ms - cost::median(std::move(theirs)).value_or(ms));
      }
    }
  }
  std::vector<Excess> all;
  for (auto& [part, excess] : parts) {
    excess.meanMs = std::accumulate(excess.ms.begin(), excess.ms.end(), 0.0) /
                    static_cast<double>(excess.ms.size());
    all.push_back(std::move(excess));
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
