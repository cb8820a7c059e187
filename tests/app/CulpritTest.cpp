#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

/// The line that ends a failed run begins with who made it fail, whoever noticed.
class Culprit : public CommandLineTest, public testing::WithParamInterface<const char*> {
 protected:
  Ended run(const std::string& more, std::vector<std::string> sets) {
    sets.push_back(std::string("processes.backend=") + GetParam());
    std::vector<std::string> arguments{"run", experiment(more), "--quiet", "--out", "r.lockstep"};
    for (const auto& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    return lockstep(arguments);
  }

  /// Rank 1 does it in step 4, in the last bucket.
  static std::string misbehaving(const std::string& wrong) {
    return "[hook]\nname = \"misbehaving\"\nlibrary = \"" +
           programBeside("broken_hooks/misbehaving.so").string() + "\"\nstep = 4\nwrong = \"" +
           wrong + "\"\n";
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, Culprit, testing::Values("shared_memory", "gloo"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Culprit, OfAnExtraCallIsWhoMadeIt) {
  const auto ended = run(misbehaving("extra"), {"processes.world_size=3"});
  EXPECT_EQ(ended.exitCode, 4) << ended.err;
  EXPECT_THAT(ended.err,
              AllOf(StartsWith("lockstep: rank 1 made another call than the other ranks, in "
                               "iteration 4"),
                    ContainsRegex("; rank [012] failed"),
                    HasSubstr("the ranks do not make the same call")));
}

TEST_P(Culprit, OfOtherArgumentsIsWhoGaveThem) {
  const auto ended = run(misbehaving("mismatch"), {"processes.world_size=3"});
  EXPECT_EQ(ended.exitCode, 4) << ended.err;
  EXPECT_THAT(ended.err, StartsWith("lockstep: rank 1 made another call than the other ranks"));
}

TEST_P(Culprit, AmongTwoRanksThatDisagreeIsNotGuessed) {
  const auto ended = run(misbehaving("extra"), {});
  EXPECT_EQ(ended.exitCode, 4) << ended.err;
  EXPECT_THAT(ended.err, StartsWith("lockstep: ranks 0, 1 did not make the same call, and no "
                                    "majority tells which was wrong; rank "));
}

TEST_P(Culprit, OfAWaitInVainIsTheRankThatWasStopped) {
  const auto ended = run("[[faults]]\nkind = \"stop\"\nrank = 1\nstep = 3\n",
                         {"processes.timeout_seconds=3", "processes.world_size=3"});
  EXPECT_EQ(ended.exitCode, 4) << ended.err;
  EXPECT_THAT(ended.err, StartsWith("lockstep: rank 1 was suspended (SIGSTOP) and was killed, in "
                                    "iteration 3 for "));
}

TEST_P(Culprit, OfUnevenInputsIsWhoRanOutOfThemAndJoinIsTheRemedy) {
  const auto ended = run("[[faults]]\nkind = \"uneven\"\nrank = 1\nsamples = 32\n", {});
  EXPECT_EQ(ended.exitCode, 4) << ended.err;
  EXPECT_THAT(
      ended.err,
      AllOf(StartsWith("lockstep: rank 1 ran out of inputs before the others, in iteration "),
            HasSubstr("set ddp.join = true"), ContainsRegex("; rank [01] failed")));
}

TEST_P(Culprit, WhoWasKilledDiedSoMuchIntoItsIteration) {
  const auto ended = run("[[faults]]\nkind = \"kill\"\nrank = 1\nstep = 3\n", {});
  EXPECT_EQ(ended.exitCode, 5) << ended.err;
  EXPECT_THAT(ended.err, ContainsRegex("^lockstep: rank 1 was ended by SIGKILL [0-9.]+ (µs|ms|s) "
                                       "into iteration 3"));
}

}  // namespace
}  // namespace lockstep::cli
