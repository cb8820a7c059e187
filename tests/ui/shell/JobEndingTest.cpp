#include "ui/shell/JobEnding.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

const QString kNothing =
    "lockstep: nothing was recorded, since no process of the command attached: watch its model";

TEST(WhyNothingWasRecorded, IsThatTheCommandFailedFirstWithItsLastLine) {
  EXPECT_EQ(whyNothingWasRecorded(
                {"Traceback (most recent call last):", "ModuleNotFoundError: No module named 'x'",
                 "lockstep: python3 ended with exit code 1", kNothing},
                1, false),
            "python3 ended with exit code 1 before any process of it had attached: nothing was "
            "recorded. Its last line: ModuleNotFoundError: No module named 'x'");
  EXPECT_EQ(whyNothingWasRecorded({"lockstep: sh was ended by SIGKILL", kNothing}, 137, false),
            "sh was ended by SIGKILL before any process of it had attached: nothing was recorded");
  EXPECT_EQ(whyNothingWasRecorded({kNothing}, 4, false),
            "the command ended with exit code 4 before any process of it had attached: nothing was "
            "recorded");
}

TEST(WhyNothingWasRecorded, IsThatNothingOfItTrained) {
  EXPECT_EQ(whyNothingWasRecorded({"done", kNothing}, 0, false),
            "The command ended well, but no process of it attached, so nothing was recorded: does "
            "it train with DistributedDataParallel, and is its model watched?");
}

TEST(WhyNothingWasRecorded, IsThatItWasStopped) {
  EXPECT_EQ(whyNothingWasRecorded({"loading", kNothing}, 130, true),
            "Stopped before any process of the command had attached: nothing was recorded");
}

TEST(WhyNothingWasRecorded, IsWhatTheRecorderSaysWhereItStartedNothing) {
  EXPECT_EQ(whyNothingWasRecorded({"lockstep: this build has no Python package"}, 3, false),
            "this build has no Python package");
  EXPECT_EQ(whyNothingWasRecorded({"Killed"}, 137, false), "Killed");
  EXPECT_EQ(whyNothingWasRecorded({}, 137, false),
            "lockstep record ended with exit code 137 and said nothing");
}

}  // namespace
}  // namespace lockstep::ui
