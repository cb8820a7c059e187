#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/SlowLink.h"
#include "engine/base/NumberText.h"
#include "engine/cost/Probe.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {
namespace {

// Note [Whose link]
// A ring moves as fast as its slowest link, and all ranks wait alike: their transfers do not say
// whose it is. The messages from rank to rank that were timed before the first step do. A rank has
// two links of the ring. Where even the quickest message over either of them took twice as long as
// the slowest over any other, it is that rank's; noise makes the slowest slower, and nobody is
// accused.

/// The messages of one size over one link.
struct Timed {
  double quickestNs = std::numeric_limits<double>::infinity();
  double slowestNs = 0;
};

/// The links of the ring, for messages of the largest size that all of them carried.
struct Ring {
  std::uint64_t bytes = 0;
  std::vector<Timed> links;  ///< by the rank where one begins; empty: not timed
};

Ring ringOf(const Evidence& evidence) {
  std::vector<std::map<std::uint64_t, Timed>> links(evidence.ranks.size());
  for (const trace::RankInfo& rank : evidence.ranks) {
    const auto text = rank.environment.find("next_peer");
    if (text == rank.environment.end() || rank.rank < 0 ||
        static_cast<std::size_t>(rank.rank) >= links.size()) {
      return {};
    }
    for (const cost::TransferSample& sample : cost::probesFrom(text->second)) {
      Timed& timed = links[static_cast<std::size_t>(rank.rank)][sample.bytes];
      timed.quickestNs = std::min(timed.quickestNs, sample.ns);
      timed.slowestNs = std::max(timed.slowestNs, sample.ns);
    }
  }
  if (links.empty() || links.front().empty()) {
    return {};
  }
  Ring ring{links.front().rbegin()->first, {}};
  for (const auto& link : links) {
    const auto found = link.find(ring.bytes);
    if (found == link.end()) {
      return {};
    }
    ring.links.push_back(found->second);
  }
  return ring;
}

struct Slow {
  int rank = 0;
  double ns = 0;        ///< the quicker of its two links' quickest
  double othersNs = 0;  ///< the slowest of all others
};

std::optional<Slow> slowRank(const std::vector<Timed>& links) {
  constexpr double kTimes = 2;
  const std::size_t size = links.size();
  for (std::size_t rank = 0; size >= 3 && rank < size; ++rank) {
    const std::size_t before = (rank + size - 1) % size;
    const double own = std::min(links[rank].quickestNs, links[before].quickestNs);
    double others = 0;
    for (std::size_t link = 0; link < size; ++link) {
      others = link == rank || link == before ? others : std::max(others, links[link].slowestNs);
    }
    if (own > kTimes * others) {
      return Slow{static_cast<int>(rank), own, others};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Finding> judgeRankLink(const Evidence& evidence) {
  const Ring ring = ringOf(evidence);
  const auto slow = slowRank(ring.links);
  if (!slow) {
    return {};
  }
  // What is no cost to the run is no finding: its transfers have to be exposed.
  std::vector<double> samples;
  for (const auto& [step, exposed] : evidence.exposedTransfers) {
    // A transfer is as long as its slowest link takes: so much of it the others would not.
    samples.push_back(exposed.ms / exposed.ranks * (1 - slow->othersNs / slow->ns));
  }
  const auto interval = cost::meanInterval(samples, kIntervalTail);
  if (!interval || interval->low < analysis::kTellingShare * evidence.stepMs) {
    return {};
  }
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title = fmt::format("the link of rank {} is slow", slow->rank);
  finding.sentence = fmt::format(
      "Before the first step a message of {} took {} or more to and from rank {}, and {} at most "
      "between all others: every transfer goes over it and waits for it.",
      base::bytesText(static_cast<double>(ring.bytes)), base::durationText(slow->ns), slow->rank,
      base::durationText(slow->othersNs));
  finding.remedy = fmt::format(
      "Look at the network of rank {}'s host: its port, its cable, who else sends there; or run "
      "without it.",
      slow->rank);
  finding.savingMs = savingOfTime(evidence, *interval);
  finding.atMost = true;
  finding.place.rank = slow->rank;
  return {finding};
}

}  // namespace lockstep::diagnosis
