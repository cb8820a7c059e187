#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"

namespace lockstep::bench {

/// What is the matter with a rank, or with all ranks of a host.
struct PlantedRank {
  enum class Kind : std::uint8_t {
    kSlow,      ///< its backward takes so much longer, every step
    kLink,      ///< its collectives end so much later than the others', all of a step together
    kPeriodic,  ///< its forward takes so much longer in every `every`-th step
    kSlowHost,  ///< as kSlow, all ranks of host number `rank`
  };
  Kind kind = Kind::kSlow;
  int rank = 0;
  double ms = 0;
  std::uint32_t every = 1;
};

/// "700:12", "41:20:10": rank (or host), ms and, where it is periodic, the distance of its steps.
base::Result<PlantedRank> plantedFrom(PlantedRank::Kind kind, std::string_view text);

/// A run of many ranks that train alike, each moved by some jitter of its own, but for those that
/// are planted: 12 parameters in 4 buckets, steps of about 9 ms, 42 spans a step of a rank. All
/// wait for the last of them at each bucket, as by an allreduce.
struct MadeRanksOptions {
  int ranks = 1024;
  std::uint32_t steps = 200;
  int ranksAHost = 8;    ///< hosts are called node0, node1, ...
  double jitter = 0.05;  ///< of each event, more or less of its length
  std::uint64_t seed = 1;
  std::vector<PlantedRank> planted;
};

/// Writes it as a recorder would, and returns how many spans.
base::Result<std::uint64_t> writeMadeRanks(trace::RunFileWriter& file,
                                           const MadeRanksOptions& options);
/// Writes it through the recorder's own writer into a new file, and returns how many spans.
base::Result<std::uint64_t> writeMadeRanks(const std::filesystem::path& path,
                                           const MadeRanksOptions& options);

}  // namespace lockstep::bench
