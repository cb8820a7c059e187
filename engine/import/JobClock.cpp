#include "engine/import/JobClock.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace lockstep::imports {
namespace {

using trace::Operation;

constexpr std::int64_t kBeforeFirstNs = 1'000'000'000;  // room for clocks that are behind
constexpr double kDriftPpm = 30;                        // as ClockOffsetEstimator has it

bool isPairwise(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kRecv;
}

// Every rank needs something of every other in these, so that none is through before all have
// begun. The root of a broadcast may be, and so may all but the root of a reduce.
bool meetsAll(Operation operation) {
  return operation == Operation::kAllreduce || operation == Operation::kAllgather ||
         operation == Operation::kReduceScatter || operation == Operation::kAlltoall ||
         operation == Operation::kBarrier;
}

/// Numbers the groups: 0 is the default one.
class Groups {
 public:
  std::uint8_t of(const CallFacts& facts) {
    // A group is written "name ranks", and c10d names the default one "0". A record without a group
    // is taken for one of it.
    if (facts.isDefault || facts.group.empty() || facts.group.starts_with("0 ")) {
      return 0;
    }
    constexpr std::uint8_t kMost = 255;
    const auto next = static_cast<std::uint8_t>(std::min<std::size_t>(numbers_.size() + 1, kMost));
    return numbers_.try_emplace(facts.group, next).first->second;
  }

 private:
  std::map<std::string, std::uint8_t> numbers_;
};

struct CallAt {
  int rank = 0;
  std::size_t index = 0;
};

}  // namespace

CallNumbers numberCalls(const Job& job, std::vector<std::string>& notes) {
  Groups groups;
  CallNumbers numbers;
  std::map<std::uint8_t, std::vector<CallAt>> byGroup;
  for (const auto& [rank, here] : job) {
    std::vector<CallNumber>& mine = numbers[rank];
    std::uint64_t pairwise = 0;
    for (std::size_t i = 0; i < here.timeline.calls.size(); ++i) {
      const CallFacts& facts = here.timeline.calls[i].facts;
      CallNumber& number = mine.emplace_back();
      number.group = groups.of(facts);
      // They meet in pairs: no number of theirs is the same on all ranks.
      if (isPairwise(facts.operation)) {
        number.sequence = facts.sequence.value_or(pairwise++);
      } else {
        byGroup[number.group].push_back({rank, i});
      }
    }
  }
  for (const auto& [group, calls] : byGroup) {
    const auto callOf = [&](const CallAt& at) -> const RankCall& {
      return job.at(at.rank).timeline.calls[at.index];
    };
    // All or none: the group's own numbers and counted ones are not on one scale.
    const bool numbered = std::all_of(calls.begin(), calls.end(), [&](const CallAt& at) {
      return callOf(at).facts.sequence.has_value();
    });
    using Key = std::pair<std::uint32_t, std::uint64_t>;  // step, place in it
    std::map<Key, std::uint64_t> order;
    std::map<std::pair<int, std::uint32_t>, std::uint64_t> counted;
    std::vector<Key> keys;
    for (const CallAt& at : calls) {
      const RankCall& call = callOf(at);
      // A key says what is the same call on all ranks: a number, or the n-th of an iteration. The
      // keys of all ranks together, in order, are then numbered through. A rank that begins with
      // iteration 3 so meets those that began with 0 where they are in iteration 3.
      keys.push_back(numbered ? Key{0, *call.facts.sequence}
                              : Key{call.step, counted[{at.rank, call.step}]++});
      order[keys.back()] = 0;
    }
    std::uint64_t next = 0;
    for (auto& [key, number] : order) {
      number = numbered ? key.second : next++;
    }
    std::map<std::uint64_t, const RankCall*> first;
    std::set<std::uint32_t> unlike;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const RankCall& call = callOf(calls[i]);
      const std::uint64_t number = order[keys[i]];
      numbers[calls[i].rank][calls[i].index].sequence = number;
      // Counting goes wrong where one rank left out a call. Then operations under one number differ
      // somewhere, which is said.
      const RankCall* known = first.try_emplace(number, &call).first->second;
      if (known->facts.operation != call.facts.operation) {
        unlike.insert(call.step);
      }
    }
    if (!unlike.empty()) {
      notes.push_back(fmt::format(
          "the ranks made different collectives in iteration {}: calls with the same number need "
          "not belong together",
          *unlike.begin()));
    }
  }
  return numbers;
}

std::vector<JobHost> hostsOf(const Job& job, const CallNumbers& numbers) {
  std::vector<JobHost> hosts;
  std::map<int, std::size_t> hostOf;
  for (const auto& [rank, here] : job) {
    // One clock only where both tell the time of day: what counts from the start of a process does
    // not agree between two processes of a host.
    const auto same = std::find_if(hosts.begin(), hosts.end(), [&](const JobHost& host) {
      return here.tellsTheTime && !here.hostName.empty() && host.name == here.hostName &&
             job.at(host.ranks.front()).tellsTheTime;
    });
    hostOf[rank] = static_cast<std::size_t>(same - hosts.begin());
    if (same == hosts.end()) {
      hosts.push_back({here.hostName.empty() ? fmt::format("host of rank {}", rank) : here.hostName,
                       {},
                       0,
                       {},
                       {}});
    }
    hosts[hostOf[rank]].ranks.push_back(rank);
  }
  // Hosts that tell the time begin together at the earliest; what their clocks are apart then shows
  // in the offset. A host that does not has its own begin for an origin.
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, here] : job) {
    if (here.tellsTheTime) {
      earliest = std::min(earliest, here.firstNs + here.epochNs);
    }
  }
  std::int64_t longest = 0;
  for (JobHost& host : hosts) {
    host.originNs = std::numeric_limits<std::int64_t>::max();
    for (const int rank : host.ranks) {
      const JobRank& here = job.at(rank);
      host.originNs =
          std::min(host.originNs, here.tellsTheTime ? earliest : here.firstNs + here.epochNs);
      longest = std::max(longest, here.lastNs - here.firstNs);
    }
    host.originNs -= kBeforeFirstNs;
  }
  // When each host came to a collective, and was through with it.
  struct Stay {
    std::int64_t beginNs = std::numeric_limits<std::int64_t>::min();  // the last rank's
    std::int64_t endNs = std::numeric_limits<std::int64_t>::max();    // the first rank's
  };
  // Of a host with several ranks the tightest counts: the last of them to begin and the first to
  // end.
  std::map<std::tuple<std::uint8_t, std::uint64_t, Operation>, std::map<std::size_t, Stay>> stays;
  for (const auto& [rank, here] : job) {
    const JobHost& host = hosts[hostOf[rank]];
    for (std::size_t i = 0; i < here.timeline.calls.size(); ++i) {
      const RankCall& call = here.timeline.calls[i];
      if (call.flew && meetsAll(call.facts.operation)) {
        const CallNumber& number = numbers.at(rank)[i];
        Stay& stay = stays[{number.group, number.sequence, call.facts.operation}][hostOf[rank]];
        stay.beginNs = std::max(stay.beginNs, call.beginNs + here.epochNs - host.originNs);
        stay.endNs = std::min(stay.endNs, call.endNs + here.epochNs - host.originNs);
      }
    }
  }
  // Half of what two clocks may drift apart, as it is added on both sides.
  const auto drift = static_cast<std::int64_t>(static_cast<double>(longest) * kDriftPpm / 1e6 / 2);
  for (std::size_t h = 1; h < hosts.size(); ++h) {
    std::int64_t low = std::numeric_limits<std::int64_t>::min();
    std::int64_t high = std::numeric_limits<std::int64_t>::max();
    for (const auto& [key, at] : stays) {
      const auto here = at.find(0);
      const auto there = at.find(h);
      if (here != at.end() && there != at.end()) {
        low = std::max(low, there->second.beginNs - here->second.endNs);
        high = std::min(high, there->second.endNs - here->second.beginNs);
      }
    }
    JobHost& host = hosts[h];
    const bool known = low != std::numeric_limits<std::int64_t>::min();
    // The intervals of early and late collectives may miss each other by as much as the clocks
    // drifted apart in between: that is no contradiction.
    if (known && low <= high + 2 * drift) {
      host.offset = {low + (high - low) / 2, std::max<std::int64_t>((high - low) / 2, 0) + drift};
      continue;
    }
    // The whole length of the job for an uncertainty: nothing that is compared across will be
    // judged.
    host.offset = {0, longest};
    host.note = fmt::format(
        "the clock of {} cannot be set against that of {}: {}; times of the two are not to be "
        "compared",
        host.name, hosts.front().name,
        known ? "their collectives contradict each other"
              : "there is no collective that both carried out");
  }
  return hosts;
}

}  // namespace lockstep::imports
