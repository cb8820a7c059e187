#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/base/RangesText.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/StruckHosts.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {
namespace {

// Of the excess of a rank's whole backward, what one gradient must have for it to be named.
constexpr double kOneGradient = 0.6;
// Of a rank's lateness, what a part of its work must explain for it to be named.
constexpr double kExplains = 0.4;

/// The part of its work in which a rank loses its time.
struct Culprit {
  std::string phrase;  ///< "in its data"; empty: in none that was recorded
  std::vector<Excess> parts;
  double ms = 0;
};

double sumOf(const std::vector<Excess>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const Excess& of) { return sum + of.meanMs; });
}

Culprit culpritOf(const Evidence& evidence, const Excesses& excesses,
                  const analysis::RankLateness& late) {
  const std::vector<Excess> all = excesses.of(late.rank);
  Culprit best;
  for (const WorkPart::Kind kind : {WorkPart::Kind::kData, WorkPart::Kind::kForward,
                                    WorkPart::Kind::kGradient, WorkPart::Kind::kOptimizer}) {
    Culprit of;
    std::copy_if(all.begin(), all.end(), std::back_inserter(of.parts),
                 [&](const Excess& excess) { return excess.part.kind == kind; });
    of.ms = sumOf(of.parts);
    if (of.parts.empty() || of.ms <= best.ms) {
      continue;
    }
    of.phrase =
        kind == WorkPart::Kind::kGradient ? "in its backward" : phraseOf(of.parts.front().part, "");
    if (kind == WorkPart::Kind::kGradient && of.parts.front().meanMs >= kOneGradient * of.ms) {
      of.parts.resize(1);
      of.ms = of.parts.front().meanMs;
      of.phrase =
          phraseOf(of.parts.front().part, evidence.parameter(of.parts.front().part.parameter));
    }
    best = std::move(of);
  }
  return best.ms >= kExplains * late.meanMs ? best : Culprit{};
}

std::uint32_t worstOf(const Excess& excess) {
  const auto most = std::max_element(excess.ms.begin(), excess.ms.end());
  return excess.steps[static_cast<std::size_t>(most - excess.ms.begin())];
}

std::string periodText(const Culprit& culprit) {
  if (culprit.parts.size() != 1) {
    return "";
  }
  const auto period = periodOf(culprit.parts.front().steps, culprit.parts.front().ms);
  return period && period->every > 1
             ? fmt::format(", in every {}th step (step {} is one)", period->every, period->first)
             : "";
}

std::string remedyOf(const Culprit& culprit, int rank) {
  if (culprit.parts.empty()) {
    return fmt::format(
        "Look at rank {}'s lanes beside another's in a step: its time goes where no phase was "
        "recorded.",
        rank);
  }
  switch (culprit.parts.front().part.kind) {
    case WorkPart::Kind::kData:
      return fmt::format(
          "Give rank {} as much or as quick data as the others: look at its shard, its disk and "
          "how "
          "its batches are made.",
          rank);
    case WorkPart::Kind::kForward:
      return fmt::format(
          "Look at what rank {} computes in the forward that the others do not: longer samples, a "
          "slower device, another program on its cores.",
          rank);
    case WorkPart::Kind::kOptimizer:
      return fmt::format("Look at rank {}'s optimizer: state that only it has, or a slower device.",
                         rank);
    case WorkPart::Kind::kGradient:
      break;
  }
  return culprit.parts.size() == 1
             ? fmt::format("Look at what rank {} does there and the others do not.", rank)
             : fmt::format(
                   "Rank {} computes more slowly throughout: a slower device or clock, longer "
                   "samples, another program on its cores.",
                   rank);
}

/// Puts in what a step would take less at most, where no replay tells it.
void saveAtMost(Finding& finding, const Evidence& evidence, const Culprit& culprit,
                const cost::MeanInterval& late) {
  // Not its lateness: the others come late, too, whose threads slept while they waited for it.
  const auto lost = timeOf(culprit.parts);
  finding.savingMs = savingOfTime(evidence, lost ? *lost : late);
  finding.atMost = true;
}

Finding ofRank(const Evidence& evidence, const Excesses& excesses,
               const analysis::RankLateness& late) {
  const Culprit culprit = culpritOf(evidence, excesses, late);
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title = fmt::format("rank {} is late", late.rank);
  finding.sentence = fmt::format(
      "Rank {} comes {} ms a step ({}) later to its collectives than the "
      "others, who wait for it",
      late.rank, base::msText(late.meanMs),
      base::msRangeText(late.interval->low, late.interval->high));
  finding.sentence +=
      culprit.parts.empty()
          ? "; no part of its work that was recorded takes so much longer than theirs."
          : fmt::format(". It loses {} ms {}{}.", base::msText(culprit.ms), culprit.phrase,
                        periodText(culprit));
  finding.remedy = remedyOf(culprit, late.rank);
  if (!culprit.parts.empty()) {
    const WorkPart& part = culprit.parts.front().part;
    finding.place.phase = std::string(nameOf(part.kind));
    finding.place.step = worstOf(culprit.parts.front());
    if (part.kind == WorkPart::Kind::kGradient && culprit.parts.size() == 1) {
      finding.place.parameter = part.parameter;
      finding.place.bucket = evidence.bucketOf(part.parameter);
    }
    if (evidence.forecaster.ok()) {
      finding.savingMs = savingWithout(evidence.forecaster.value(), late.rank, culprit.parts);
    }
  }
  if (!finding.savingMs) {
    saveAtMost(finding, evidence, culprit, *late.interval);
  }
  finding.place.rank = late.rank;
  return finding;
}

/// What most ranks of a host have in common is the host's: one finding, and no replay, which leaves
/// out what one rank loses.
Finding ofHost(const Evidence& evidence, const Excesses& excesses, const StruckHost& host,
               const std::map<int, const analysis::RankLateness*>& late) {
  const auto count = static_cast<double>(host.ranks.size());
  cost::MeanInterval common{0, late.at(host.ranks.front())->interval->low, 0};
  const analysis::RankLateness* worst = late.at(host.ranks.front());
  std::map<WorkPart::Kind, std::pair<std::size_t, double>> parts;  // ranks, ms
  for (const int rank : host.ranks) {
    const analysis::RankLateness& of = *late.at(rank);
    common.mean += of.meanMs / count;
    common.low = std::min(common.low, of.interval->low);
    common.high = std::max(common.high, of.interval->high);
    worst = of.meanMs > worst->meanMs ? &of : worst;
    if (const Culprit culprit = culpritOf(evidence, excesses, of); !culprit.parts.empty()) {
      auto& [ranks, ms] = parts[culprit.parts.front().part.kind];
      ranks += 1;
      ms += culprit.ms;
    }
  }
  const std::string all = host.ranks.size() == host.size
                              ? fmt::format("all its {} ranks", host.size)
                              : fmt::format("{} of its {} ranks", host.ranks.size(), host.size);
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title = fmt::format("host {} is late", host.name);
  finding.sentence = fmt::format(
      "Host {}: ranks {} ({}) come {} ms a step ({}) later to their "
      "collectives than the others, who wait for them",
      host.name, base::rangesText(host.ranks), all, base::msText(common.mean),
      base::msRangeText(common.low, common.high));
  const auto most = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return a.second.first < b.second.first;
  });
  if (most != parts.end() && most->second.first * 2 > host.ranks.size()) {
    const auto& [ranks, ms] = most->second;
    finding.sentence +=
        fmt::format(". They lose {} ms in their {}.", base::msText(ms / static_cast<double>(ranks)),
                    nameOf(most->first));
    finding.place.phase = std::string(nameOf(most->first));
  } else {
    finding.sentence += "; no part of their work that was recorded takes so much longer.";
  }
  finding.remedy = fmt::format(
      "Look at what host {} has that the others have not: slower devices or clocks, another "
      "program "
      "on its cores, its disk, its network.",
      host.name);
  finding.place.rank = worst->rank;
  const Culprit culprit = culpritOf(evidence, excesses, *worst);
  if (!culprit.parts.empty()) {
    finding.place.step = worstOf(culprit.parts.front());
  }
  saveAtMost(finding, evidence, culprit, *worst->interval);
  return finding;
}

}  // namespace

std::vector<Finding> judgeLateRank(const Evidence& evidence) {
  std::map<int, const analysis::RankLateness*> late;
  std::vector<int> ranks;
  for (const analysis::RankLateness& of : evidence.run.lateness) {
    if (of.late && of.interval) {
      late[of.rank] = &of;
      ranks.push_back(of.rank);
    }
  }
  if (late.empty()) {
    return {};
  }
  const Excesses excesses(evidence.work);
  std::map<int, int> hostOf;
  for (const trace::RankInfo& rank : evidence.ranks) {
    hostOf[rank.rank] = rank.host;
  }
  std::vector<Finding> findings;
  for (const StruckHost& host : struckHosts(ranks, hostOf, evidence.hosts)) {
    findings.push_back(ofHost(evidence, excesses, host, late));
    for (const int rank : host.ranks) {
      late.erase(rank);
    }
  }
  for (const auto& [rank, of] : late) {
    findings.push_back(ofRank(evidence, excesses, *of));
  }
  return findings;
}

}  // namespace lockstep::diagnosis
