#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/import/FlightRecorder.h"

namespace lockstep::imports {
namespace {

std::string list(const std::set<int>& ranks) {
  return base::ranksText({ranks.begin(), ranks.end()});
}

std::string callText(const FlightEntry& entry) {
  const std::string operation(trace::name(entry.facts.operation));
  return entry.facts.elements > 0
             ? fmt::format("{} of {} elements", operation, entry.facts.elements)
             : operation;
}

/// One group over the dumps of its ranks.
class Group {
 public:
  Group(std::string name, FlightGroup facts) : name_(std::move(name)), facts_(std::move(facts)) {}

  void add(int rank, const FlightEntry& entry) {
    calls_[entry.sequence][rank] = &entry;
    last_[rank] = std::max(last_[rank], entry.sequence);
  }

  void judge(const std::map<int, FlightDump>& dumps, std::vector<FlightFinding>& findings) const {
    findMismatch(findings);
    findMissing(dumps, findings);
    findHung(findings);
  }

 private:
  [[nodiscard]] std::string title() const {
    return facts_.description.empty() || facts_.description == "undefined"
               ? fmt::format("group {}", name_.empty() ? "0" : name_)
               : fmt::format("group {} ({})", name_.empty() ? "0" : name_, facts_.description);
  }

  [[nodiscard]] static bool mayDiffer(trace::Operation operation) {
    return operation == trace::Operation::kGather || operation == trace::Operation::kScatter ||
           operation == trace::Operation::kAlltoall || operation == trace::Operation::kAllgather ||
           operation == trace::Operation::kReduceScatter;
  }

  // One rank, the first of the group, stands for all it is compared with: two that differ are
  // named, and who of the two is wrong is not said.
  void findMismatch(std::vector<FlightFinding>& findings) const {
    for (const auto& [sequence, ranks] : calls_) {
      const auto& [firstRank, first] = *ranks.begin();
      for (const auto& [rank, entry] : ranks) {
        const bool sizes =
            entry->facts.elements != first->facts.elements && !mayDiffer(first->facts.operation);
        // Sizes of ranks may differ in what gathers or scatters, in either direction.
        if (entry->facts.operation != first->facts.operation || sizes) {
          findings.push_back(
              {rank, true,
               fmt::format("the ranks asked for different collectives as number {} of {}: rank {} "
                           "for {}, rank {} for {}",
                           sequence, title(), firstRank, callText(*first), rank,
                           callText(*entry))});
          return;  // what comes after it is shifted, too
        }
      }
    }
  }

  void findMissing(const std::map<int, FlightDump>& dumps,
                   std::vector<FlightFinding>& findings) const {
    for (const int rank : facts_.ranks) {
      if (!dumps.contains(rank)) {
        findings.push_back({rank, false,
                            fmt::format("there is no dump of rank {}, which is in {}: whether it "
                                        "came is not known",
                                        rank, title())});
      }
    }
    for (const auto& [rank, last] : last_) {
      // The first number that this rank has not, and any other has. None: it has come as far as
      // all.
      const auto next = calls_.upper_bound(last);
      if (next == calls_.end()) {
        continue;
      }
      std::set<int> came;
      bool done = false;
      for (const auto& [other, entry] : next->second) {
        came.insert(other);
        done |= entry->done;
      }
      // If any rank is through with it, this one must have been in it: no collective ends without
      // all. So its dump is only older than theirs.
      const FlightEntry& call = *next->second.begin()->second;
      if (done) {
        findings.push_back({rank, false,
                            fmt::format("rank {}'s dump ends with number {} of {}, and others are "
                                        "through with the next one: it was written earlier",
                                        rank, last, title())});
      } else {
        findings.push_back(
            {rank, true,
             fmt::format("rank {} had not come to {}, number {} of {}, when its dump was written: "
                         "{} had; its last one was number {}",
                         rank, callText(call), next->first, title(), list(came), last)});
      }
    }
  }

  void findHung(std::vector<FlightFinding>& findings) const {
    for (const auto& [sequence, ranks] : calls_) {
      std::set<int> waiting;
      for (const auto& [rank, entry] : ranks) {
        if (!entry->done) {
          waiting.insert(rank);
        }
      }
      // One that some rank has not come to is findMissing's.
      if (!waiting.empty() && ranks.size() == last_.size()) {
        findings.push_back({-1, true,
                            fmt::format("all {} ranks whose dumps there are came to {}, number {} "
                                        "of {}, and it was not done on {}",
                                        ranks.size(), callText(*ranks.begin()->second), sequence,
                                        title(), list(waiting))});
        return;  // those after it wait for it
      }
    }
  }

  std::string name_;
  FlightGroup facts_;
  std::map<std::uint64_t, std::map<int, const FlightEntry*>> calls_;
  std::map<int, std::uint64_t> last_;
};

}  // namespace

std::vector<FlightFinding> findingsOf(const std::map<int, FlightDump>& dumps) {
  std::map<std::string, Group> groups;
  for (const auto& [rank, dump] : dumps) {
    for (const FlightEntry& entry : dump.entries) {
      const auto facts = dump.groups.find(entry.group);
      const auto made = groups.try_emplace(
          entry.group, entry.group, facts == dump.groups.end() ? FlightGroup{} : facts->second);
      made.first->second.add(rank, entry);
    }
  }
  std::vector<FlightFinding> findings;
  for (const auto& [name, group] : groups) {
    group.judge(dumps, findings);
  }
  return findings;
}

}  // namespace lockstep::imports
