#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/ChildProcess.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {

using Variables = std::vector<std::pair<std::string, std::string>>;

std::string rankProgram();

/// A TCP port that was free a moment ago.
std::uint16_t freePort();

/// The program lockstep-rank as torchrun, mpirun or a supervisor would start it, with a small
/// experiment.
class RankProgram : public testing::Test {
 protected:
  RankProgram();

  support::ChildProcess start(int rank, int world, std::uint16_t port,
                              std::vector<std::string> arguments = {}, Variables more = {});

  /// Runs all ranks to their end, which must be a good one, with `--set` for each of `settings`;
  /// returns what they wrote to stderr.
  std::vector<std::string> runRanks(int world, const std::vector<std::string>& settings);

  static int exitCode(support::ChildProcess& child);

  /// Waits until the process has written `text`; a failure, and false, when that does not come.
  static bool awaitText(support::ChildProcess& child, const std::string& text);

  /// Returns the text between `before` and the next blank, comma or end of line.
  static std::string after(const std::string& text, const std::string& before);

  static int lines(const std::string& text);

  support::TemporaryFolder folder_;
};

}  // namespace lockstep::train
