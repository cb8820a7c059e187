#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "engine/diagnosis/UnlikeRanks.h"
#include "tests/bench/timeline/MadeRanks.h"
#include "ui/views/ranks/RanksContent.h"

namespace lockstep::ui::test {

/// A run of 64 ranks, 8 a host, 40 steps: rank 41 is slow, 32 has a slow link, 7 is slow in every
/// fifth step, and so is all of node2.
inline void writePlanted(const std::filesystem::path& path, std::uint32_t steps = 40) {
  using Kind = bench::PlantedRank::Kind;
  bench::MadeRanksOptions options;
  options.ranks = 64;
  options.steps = steps;
  options.planted = {{Kind::kSlow, 41, 12},
                     {Kind::kLink, 32, 8},
                     {Kind::kPeriodic, 7, 24, 5},
                     {Kind::kSlowHost, 2, 4}};
  const auto written = bench::writeMadeRanks(path, options);
  ASSERT_TRUE(written.ok());
}

/// The content of a run file, as the view makes it.
inline std::shared_ptr<const RanksContent> contentOf(const std::filesystem::path& path) {
  auto data = analysis::readRunData(path);
  EXPECT_TRUE(data.ok());
  AnalysedRun run;
  run.data = data.value();
  run.analysis = analysis::analyse(run.data);
  RanksOfRun of;
  const auto summary = trace::readRunSummary(path);
  EXPECT_TRUE(summary.ok());
  run.ranks = placesOf(summary.value().ranks);
  for (int host = 0; host < 8; ++host) {
    of.hosts.push_back({{host, "node" + std::to_string(host), "", "tsc"}, {}});
  }
  run.hosts = of.hosts;
  for (const trace::RankInfo& rank : run.ranks) {
    of.memory.push_back({rank.rank, 3, 100.0f + static_cast<float>(rank.rank)});
  }
  return ranksContent(run, of);
}

}  // namespace lockstep::ui::test
