// Fourteen mistakes of a data-parallel program, each made by the last of two and of three ranks,
// which are processes over Gloo. PyTorch passes over some in silence, ends others in a hang, a
// time-out that names nobody, or std::terminate. Here every rank that lives ends with an error of
// its own, in the iteration of the mistake, that names the rank, the parameter or the operation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <ostream>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include "tests/mistakes/ErringTraining.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::mistakes {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

/// What a rank's line must hold; "{wrong}" stands for the rank that made the mistake.
struct Expectation {
  Mistake mistake;
  const char* name;
  const char* place;  ///< where every living rank sees it
  std::vector<std::string> parts;
};

const std::vector<Expectation> kExpectations{
    {Mistake::kDtypeDiffers,
     "DtypeDiffers",
     "construction",
     {"rank {wrong} did not build the same model", "rank 0 has parameter 'fc1.weight' (2), float32",
      "rank {wrong} has parameter 'fc1.weight' (2), float64"}},
    {Mistake::kOrderSwapped,
     "OrderSwapped",
     "construction",
     {"rank 0 has parameter 'fc0.weight' (0)", "rank {wrong} has parameter 'fc1.weight' (0)"}},
    {Mistake::kCapDiffers,
     "CapDiffersWithFindUnusedParameters",
     "construction",
     {"did not build the same model and settings", "rank {wrong} has bucket rule"}},
    {Mistake::kParameterUnused,
     "ParameterUnused",
     "step 2",
     {"rank {wrong}: the backward of step 2 gave no gradient to 2 of 6 parameters",
      "'fc0.weight' (0), 'fc0.bias' (1)"}},
    {Mistake::kModuleMoved,
     "ModuleMoved",
     "step 2",
     {"rank {wrong}: parameter 'fc0.weight' (0) was float32 on cpu", "is now float64 on cpu"}},
    {Mistake::kReduceOperationDiffers,
     "ReduceOperationDiffers",
     "step 2",
     {"allreduce", "the reduce operation is sum on rank", "max on rank {wrong}"}},
    {Mistake::kRootDiffers,
     "RootDiffers",
     "step 2",
     {"broadcast", "the root is rank 0 on rank", "rank {wrong} on rank {wrong}"}},
    {Mistake::kSizeDiffers,
     "SizeDiffers",
     "step 2",
     {"allreduce", "4 on rank", "5 on rank {wrong}"}},
    {Mistake::kPeerKilled, "PeerKilled", "step 2", {"rank {wrong}", "allreduce", "bucket 0"}},
    {Mistake::kPeerStopped, "PeerStopped", "step 2", {"rank {wrong}", "allreduce", "bucket 0"}},
    {Mistake::kHookResultShort,
     "HookResultShort",
     "step 2",
     {"hook 'mine', rank {wrong}: bucket 0 of step", "returned float32"}},
    {Mistake::kHookResultOfWrongDtype,
     "HookResultOfWrongDtype",
     "step 2",
     {"hook 'mine', rank {wrong}: bucket 0 of step", "returned float64"}},
    {Mistake::kHookThrows,
     "HookThrows",
     "step 2",
     {"hook 'mine', rank {wrong}: bucket 0 of step", "no memory left"}},
    {Mistake::kBackwardSkipped,
     "BackwardSkipped",
     "step 2",
     {"rank {wrong}: the forward of step 2 was followed by no backward"}},
};

void PrintTo(const Expectation& expectation, std::ostream* out) {
  *out << expectation.name;
}

std::string filledIn(const std::string& text, int wrong) {
  return std::regex_replace(text, std::regex("\\{wrong\\}"), std::to_string(wrong));
}

class PlantedMistake : public testing::TestWithParam<std::tuple<Expectation, int>> {};

TEST_P(PlantedMistake, IsAnErrorOfTheSameIterationThatNamesIt) {
  const auto& [expected, world] = GetParam();
  const int wrong = world - 1;
  const bool stopped = expected.mistake == Mistake::kPeerStopped;
  const bool gone = stopped || expected.mistake == Mistake::kPeerKilled;
  // Only a stopped rank has to be waited for; a time-out in place of the other errors would show.
  const int limitMs = stopped ? 2000 : 60000;
  const support::TemporaryFolder folder;
  auto ranks = support::spawnSelfAsRanks(
      world, kTrainingRole,
      {(folder / "store").string(), std::to_string(static_cast<int>(expected.mistake)),
       std::to_string(limitMs)});
  for (int rank = 0; rank < world; ++rank) {
    if (rank == wrong && gone) {
      continue;
    }
    auto& process = ranks[static_cast<std::size_t>(rank)];
    const std::string line = process.readLine();
    // A spoilt result is this rank's own until it says so: the others' reduction went well, and
    // they may be in their next one when they learn of it.
    const bool late = rank != wrong && (expected.mistake == Mistake::kHookResultShort ||
                                        expected.mistake == Mistake::kHookResultOfWrongDtype);
    EXPECT_THAT(line, AnyOf(StartsWith(std::string(expected.place) + ": "),
                            StartsWith(late ? "step 3: " : expected.place)));
    for (const std::string& part : expected.parts) {
      EXPECT_THAT(line, HasSubstr(filledIn(part, wrong))) << "on rank " << rank;
    }
    EXPECT_EQ(process.wait(), (support::ExitStatus{false, kErrorSeen, 0})) << process.errors();
  }
  if (gone) {
    auto& process = ranks[static_cast<std::size_t>(wrong)];
    process.kill(SIGKILL);
    EXPECT_EQ(process.wait(), (support::ExitStatus{true, 0, SIGKILL}));
  }
}

INSTANTIATE_TEST_SUITE_P(TwoAndThreeRanks, PlantedMistake,
                         testing::Combine(testing::ValuesIn(kExpectations), testing::Values(2, 3)),
                         [](const auto& parameters) {
                           return std::string(std::get<0>(parameters.param).name) + "On" +
                                  std::to_string(std::get<1>(parameters.param)) + "Ranks";
                         });

}  // namespace
}  // namespace lockstep::mistakes
