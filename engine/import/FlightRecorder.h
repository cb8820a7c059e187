#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/import/RankTimeline.h"

namespace lockstep::imports {

/// A collective as the Flight Recorder of a rank has it (torch.distributed, TORCH_FR_BUFFER_SIZE).
struct FlightEntry {
  std::string group;  ///< its name
  std::uint64_t sequence = 0;
  CallFacts facts;
  bool done = false;             ///< it says that it was completed, or has let go of it
  std::int64_t createdNs = 0;    ///< since 1970
  std::int64_t startedNs = 0;    ///< 0: not known
  std::int64_t completedNs = 0;  ///< 0: not known
};

struct FlightGroup {
  std::string description;
  std::vector<int> ranks;  ///< of the job; empty: not recorded
};

struct FlightDump {
  std::filesystem::path path;
  std::vector<FlightEntry> entries;  ///< collectives; sends and receives are left out
  std::map<std::string, FlightGroup> groups;
};

/// Reads a dump, pickled (Note [Reading a pickle]) or JSON. Errors: kBadInput, with the place.
base::Result<FlightDump> readFlightDump(const std::filesystem::path& path);

/// What a dump says of its rank: when each collective was asked for, and carried out where known.
RankTimeline timelineOf(const FlightDump& dump);

/// A sentence on what the ranks' dumps tell when laid side by side, and the rank it is about; -1:
/// all. An accusation is what the dumps themselves hold against a rank, and nothing measured.
struct FlightFinding {
  int rank = -1;
  bool isError = true;
  std::string text;
};

// Note [Who did not come]
// A group's collectives are numbered by each rank as it asks for them. Where the last number of a
// rank is below that of others, and none of these has the next one done, which needs all ranks,
// the rank had not come to it when its dump was written. Where ranks have different operations or
// sizes under one number, they asked for different collectives. Where all came and some are not
// done, it was the collective that hung. A number that the others are through with is only missing
// in a dump that was written earlier.
std::vector<FlightFinding> findingsOf(const std::map<int, FlightDump>& dumps);

}  // namespace lockstep::imports
