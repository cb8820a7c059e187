#include "engine/diagnosis/Verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/analysis/Compare.h"
#include "engine/analysis/LastRanks.h"
#include "engine/base/NumberText.h"
#include "engine/diagnosis/CostliestBucket.h"
#include "engine/experiment/FieldText.h"
#include "engine/experiment/Schema.h"

namespace lockstep::diagnosis {
namespace {

/// "7.20 ms".
std::string msWords(double ms) {
  return base::msText(ms) + " ms";
}

/// "2.62 s", as the timeline writes it, where the step is looked at.
std::string timeWords(double ms) {
  return base::durationText(ms * 1e6);
}

Remark onDivergence(const Evidence& evidence, const analysis::FirstDifference& first) {
  Remark remark{Topic::kReplicas, {}, {}, {}};
  const std::string where = evidence.parameter(static_cast<std::uint32_t>(first.parameter));
  remark.brief = fmt::format("diverged at step {} in {}", first.step, where);
  remark.text = fmt::format("{} on {}{}", remark.brief, base::ranksText(first.ranks, 4),
                            first.majority ? "" : ", and which side is wrong is not known");
  remark.place.step = first.step;
  remark.place.parameter = static_cast<std::uint32_t>(first.parameter);
  remark.place.parameterName = where;
  if (first.majority && !first.ranks.empty()) {
    remark.place.rank = first.ranks.front();
  }
  return remark;
}

std::optional<Remark> onReplicas(const Evidence& evidence) {
  const analysis::Divergence& found = evidence.divergence;
  if (evidence.run.ranks.size() < 2) {
    return std::nullopt;
  }
  if (!evidence.info.driftingHook.empty()) {
    return Remark{Topic::kReplicas,
                  fmt::format("replicas drift by design (hook {})", evidence.info.driftingHook),
                  "replicas drift by design",
                  {}};
  }
  if (found.first) {
    return onDivergence(evidence, *found.first);
  }
  if (!found.compared()) {
    return Remark{Topic::kReplicas, "replicas were not compared", "replicas not compared", {}};
  }
  if (found.lost) {
    const std::string where = evidence.parameter(static_cast<std::uint32_t>(found.lost->parameter));
    Remark remark{Topic::kReplicas,
                  fmt::format("parameters are no numbers from step {} on, first {} of rank {}",
                              found.lost->step, where, found.lost->rank),
                  fmt::format("no numbers from step {} on", found.lost->step),
                  {}};
    remark.place.step = found.lost->step;
    remark.place.rank = found.lost->rank;
    return remark;
  }
  const std::size_t whole = found.replicas.wholeSteps().size();
  return Remark{Topic::kReplicas,
                whole == 0
                    ? "replicas equal where two can be compared"
                    : fmt::format("replicas equal in {}", base::countedText(whole, "sample")),
                "replicas equal",
                {}};
}

std::optional<Remark> onCost(const Evidence& evidence) {
  const std::optional<analysis::BucketCost> most = evidence.bucketCosts.most();
  if (!most) {
    return std::nullopt;
  }
  Remark remark{Topic::kCost, {}, {}, {}};
  remark.brief = most->everywhere
                     ? fmt::format("bucket {} costs each rank up to {} a step (mean)", most->bucket,
                                   msWords(most->ms))
                     : fmt::format("bucket {} costs rank {} {} a step (mean)", most->bucket,
                                   most->rank, msWords(most->ms));
  remark.text = remark.brief + reasonText(*most);
  remark.place.rank = most->rank;
  remark.place.bucket = most->bucket;
  remark.place.step = most->worst.step;
  remark.place.ticks = most->worst.ticks;
  return remark;
}

std::optional<Remark> onLateness(const Evidence& evidence) {
  const analysis::RunAnalysis& run = evidence.run;
  if (run.ranks.size() < 2 || evidence.measuredSteps == 0) {
    return std::nullopt;
  }
  if (run.lateness.empty()) {
    return Remark{Topic::kLate,
                  "who is late cannot be told from so few steps",
                  "who is late cannot be told",
                  {}};
  }
  const analysis::LastRanks all = analysis::lastRanks(run);
  if (!run.lateRank) {
    Remark nobody{Topic::kLate, "no rank is late beyond chance", "no rank is late", {}};
    if (const auto most = all.mostOften()) {
      nobody.text +=
          fmt::format("; rank {} was the last most often, in {} of {} steps", *most,
                      base::countText(all.ranks.at(*most).steps), base::countText(all.steps));
    }
    return nobody;
  }
  const auto last = all.ranks.find(*run.lateRank);
  Remark remark{Topic::kLate, {}, {}, {}};
  remark.brief = fmt::format("rank {} is late in {} of {} steps", *run.lateRank,
                             base::countText(last == all.ranks.end() ? 0 : last->second.steps),
                             base::countText(all.steps));
  const auto others =
      std::ranges::count_if(run.lateness, [](const auto& rank) { return rank.late; }) - 1;
  remark.text = others > 0 ? fmt::format("{}, and {} late, too", remark.brief,
                                         others == 1 ? std::string("1 more rank is")
                                                     : fmt::format("{} more ranks are", others))
                           : remark.brief;
  remark.place.rank = run.lateRank;
  if (last != all.ranks.end()) {
    remark.place.step = last->second.worst;
  }
  return remark;
}

std::optional<Remark> onOverlap(const Evidence& evidence) {
  const analysis::RunAnalysis& run = evidence.run;
  if (evidence.measuredSteps == 0) {
    return std::nullopt;
  }
  if (!run.overlapPercent || !run.exposedMs || !run.exposedRank) {
    return Remark{Topic::kOverlap, "nothing is communicated", "nothing is communicated", {}};
  }
  Remark remark{Topic::kOverlap, {}, {}, {}};
  remark.brief = fmt::format("overlap {}", base::percentText(*run.overlapPercent));
  remark.text = fmt::format("{} on rank {}, {} exposed a step (medians)", remark.brief,
                            *run.exposedRank, msWords(*run.exposedMs));
  remark.place.rank = run.exposedRank;
  return remark;
}

/// What a step of a rank is made of, as far as a reason for its length is looked for.
struct StepShares {
  double computing = 0;
  double noCore = 0;
  double waiting = 0;
  double transfer = 0;
  double other = 0;
};

// Work that waits for a core while nothing is in flight is part of what is neither.
StepShares shareOf(const analysis::StepOverlap& step) {
  const double quietly = std::clamp(step.times.offCoreMs - step.noCoreMs, 0.0, step.otherMs);
  return {step.aloneMs + step.times.overlapMs, step.noCoreMs + quietly, step.waitingMs,
          step.transferMs + step.undividedMs, step.otherMs - quietly};
}

/// The rank that a rank waited for longest in a step; none: that is not known.
std::optional<int> waitedFor(const Evidence& evidence, int rank, std::uint32_t step) {
  std::optional<int> whom;
  std::uint64_t longest = 0;
  for (const auto& [group, collectives] : evidence.run.collectives.lists()) {
    for (const analysis::CollectiveTimes& collective : collectives) {
      if (collective.step != step || !collective.lastRank) {
        continue;
      }
      for (const analysis::Arrival& arrival : collective.arrivals) {
        if (arrival.rank == rank && arrival.waitingTicks() > longest) {
          longest = arrival.waitingTicks();
          whom = collective.lastRank;
        }
      }
    }
  }
  return whom;
}

/// What the slowest step of a rank spent more of than the middle one of its steps, as it ends a
/// sentence; empty: it cannot be told.
struct Reason {
  std::string text;
  std::string brief;
};

Reason reasonOf(const Evidence& evidence, const analysis::StepOverlap& slowest) {
  const int rank = slowest.times.rank;
  std::vector<StepShares> usual;
  for (const analysis::StepOverlap& step : evidence.steps) {
    if (step.times.rank == rank && evidence.isMeasured(step.times)) {
      usual.push_back(shareOf(step));
    }
  }
  const StepShares of = shareOf(slowest);
  struct Kind {
    double StepShares::*share;
    const char* text;
    const char* brief;
  };
  const Kind kinds[] = {
      {&StepShares::computing, "computed {} longer than usual", "computed {} longer"},
      {&StepShares::noCore, "had no core for {} more than usual", "had no core for {} more"},
      {&StepShares::waiting, "waited {} longer than usual", "waited {} longer"},
      {&StepShares::transfer, "took {} longer than usual for its transfers",
       "took {} longer to transfer"},
      {&StepShares::other, "spent {} more than usual outside computing and communication",
       "spent {} more outside computing and communication"}};
  const Kind* most = std::begin(kinds);
  double ms = 0;
  for (const Kind& kind : kinds) {
    std::vector<double> values;
    for (const StepShares& step : usual) {
      values.push_back(step.*kind.share);
    }
    const double beyond = of.*kind.share - *analysis::median(std::move(values));
    if (beyond > ms) {
      most = &kind;
      ms = beyond;
    }
  }
  if (ms <= kWorthSpeakingOf * slowest.times.stepMs) {
    return {};
  }
  std::string whom;
  if (most->share == &StepShares::waiting) {
    if (const auto late = waitedFor(evidence, rank, slowest.times.step)) {
      whom = fmt::format(" for rank {}", *late);
    }
  }
  const auto written = [&](const char* clause) {
    return fmt::format(": rank {} ", rank) + fmt::format(fmt::runtime(clause), timeWords(ms)) +
           whom;
  };
  return {written(most->text), written(most->brief)};
}

/// By rank, the last step of those that ended badly: how long it took is how long they took to end.
std::map<int, std::uint32_t> cutOffSteps(const Evidence& evidence) {
  std::map<int, std::uint32_t> last;
  for (const trace::RankInfo& rank : evidence.ranks) {
    if (rank.state == "failed" || rank.state == "killed" || rank.state == "lost") {
      last[rank.rank] = 0;
    }
  }
  for (const analysis::StepOverlap& step : evidence.steps) {
    if (const auto of = last.find(step.times.rank); of != last.end()) {
      of->second = std::max(of->second, step.times.step);
    }
  }
  return last;
}

std::optional<Remark> onSlowest(const Evidence& evidence) {
  const std::map<int, std::uint32_t> cutOff = cutOffSteps(evidence);
  const analysis::StepOverlap* longest = nullptr;
  for (const analysis::StepOverlap& step : evidence.steps) {
    const auto last = cutOff.find(step.times.rank);
    const bool whole = last == cutOff.end() || step.times.step < last->second;
    if (whole && evidence.isMeasured(step.times) &&
        (longest == nullptr || step.times.stepMs > longest->times.stepMs)) {
      longest = &step;
    }
  }
  if (longest == nullptr) {
    return std::nullopt;
  }
  Remark remark{Topic::kSlowest, {}, {}, {}};
  const Reason reason = reasonOf(evidence, *longest);
  remark.bare = fmt::format("step {} was the slowest, {}", longest->times.step,
                            timeWords(longest->times.stepMs));
  remark.brief = remark.bare + reason.brief;
  remark.text = remark.bare + reason.text;
  remark.place.step = longest->times.step;
  remark.place.rank = longest->times.rank;
  return remark;
}

}  // namespace

std::vector<Remark> verdictOf(const Evidence& evidence) {
  std::vector<Remark> remarks;
  for (const auto& remark : {onReplicas(evidence), onCost(evidence), onLateness(evidence),
                             onOverlap(evidence), onSlowest(evidence)}) {
    if (remark) {
      remarks.push_back(*remark);
    }
  }
  return remarks;
}

std::string subjectOf(const trace::RunInfo& info, const std::vector<trace::RankInfo>& ranks) {
  const std::map<std::string, std::string> keys = analysis::settingsOf(info, ranks).keys;
  const auto valueOf = [&](const char* key) {
    const auto written = keys.find(key);
    const experiment::Field* field = experiment::findField(key);
    return written == keys.end() || field == nullptr
               ? std::string()
               : experiment::typedText(*field, written->second);
  };
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) {
      text += (text.empty() ? "" : ", ") + part;
    }
  };
  add(valueOf("model.kind"));
  if (info.worldSize > 0) {
    add(base::countedText(static_cast<std::uint64_t>(info.worldSize), "rank"));
  }
  // What carried the collectives, and not "auto".
  std::string backend = valueOf("processes.backend");
  if (!ranks.empty() && ranks.front().environment.contains("backend")) {
    backend = ranks.front().environment.at("backend");
  }
  add(backend);
  if (const std::string hook = valueOf("hook.name"); !hook.empty()) {
    add("hook " + hook);
  }
  return text;
}

}  // namespace lockstep::diagnosis
