#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/launch/Supervisor.h"
#include "engine/trace/RunFile.h"

namespace lockstep::launch {

/// Returns a program beside this test binary.
std::filesystem::path programBeside(const std::string& name);

/// Returns the texts that a live or finished run file's log holds for `rank`.
std::vector<std::string> logOf(const std::filesystem::path& runFile, int rank);

/// Counts the open descriptors of this process.
int countDescriptors();

/// Gives each test a folder of its own, fake ranks, and short limits that only matter when
/// something goes wrong.
class LaunchFixture : public testing::Test {
 protected:
  LaunchFixture();
  ~LaunchFixture() override;

  /// Supervises `worldSize` fake ranks that follow `plan` (FakeRank.cpp).
  base::Result<LaunchOutcome> launch(
      int worldSize, const std::string& plan,
      const std::function<void(const LaunchProgress&)>& progress = nullptr);

  [[nodiscard]] trace::RunSummary summary() const;
  /// Counts the rows of one metric that are in the run file by now.
  [[nodiscard]] std::int64_t metrics(const std::string& name) const;

  std::filesystem::path folder;
  LaunchOptions options;
};

}  // namespace lockstep::launch
