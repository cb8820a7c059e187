#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/import/RankTimeline.h"
#include "engine/trace/ClockOffset.h"

namespace lockstep::imports {

/// Between two traces of a rank: nothing was recorded.
struct TraceGap {
  std::optional<std::pair<std::uint32_t, std::uint32_t>> between;  ///< iterations, if known
  std::int64_t ns = 0;
};

/// A rank of the job that is imported.
struct JobRank {
  RankTimeline timeline;
  std::string hostName;  ///< empty: not recorded
  std::string backend;
  std::string device;
  int worldSize = 0;         ///< 0: not recorded
  std::string source;        ///< the file; several with ", " between
  std::int64_t epochNs = 0;  ///< added to its times: ns since 1970, if tellsTheTime
  bool tellsTheTime = false;
  std::int64_t firstNs = 0;
  std::int64_t lastNs = 0;
  std::vector<TraceGap> gaps;
  std::map<std::string, std::string> facts;  ///< others, for its environment
};
using Job = std::map<int, JobRank>;

/// A clock that some ranks share.
struct JobHost {
  std::string name;
  std::vector<int> ranks;
  std::int64_t originNs = 0;  ///< of its clock, with epochNs; run time 0
  trace::ClockOffset offset;  ///< to the first host's
  std::string note;           ///< a sentence where the offset is not known
};

/// Group and number of each call of each rank, in the order of RankTimeline::calls.
struct CallNumber {
  std::uint8_t group = 0;
  std::uint64_t sequence = 0;
};
using CallNumbers = std::map<int, std::vector<CallNumber>>;

// Note [Numbers of calls]
// The n-th collective of a group on one rank is the n-th on every other. A trace has their numbers
// in it from PyTorch 2.4 or so on; without, those of each iteration are counted, since traces of
// ranks need not begin with the same iteration.
CallNumbers numberCalls(const Job& job, std::vector<std::string>& notes);

// Note [Clocks by collectives]
// A rank cannot be through with an allreduce (or another operation in which every rank needs
// something of every other) before the last rank has begun it. So for each one that two hosts have
// in common, their clocks are apart by at least begin there - end here and at most end there -
// begin here, whatever the network did. The true offset lies within all such intervals; its middle
// is taken, and half its width is the uncertainty, widened by what clocks may drift apart while the
// traces last. Ranks that name the same host and tell the time of day read one clock.
std::vector<JobHost> hostsOf(const Job& job, const CallNumbers& numbers);

}  // namespace lockstep::imports
