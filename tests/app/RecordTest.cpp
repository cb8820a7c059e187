// `lockstep record` as a user meets it; tests/engine/launch/JobTest.cpp has what it records.

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RecordTest : public CommandLineTest {};

TEST_F(RecordTest, SaysThatTheBuildHasNoPythonPackage) {
  std::filesystem::create_directories(folder / "other" / "bin");
  const std::filesystem::path alone = folder / "other" / "bin" / "lockstep";
  std::filesystem::copy_file(programBeside("lockstep"), alone);
  const std::filesystem::path err = folder / "err";
  const int status =
      std::system(("\"" + alone.string() + "\" record -- true 2>\"" + err.string() + "\"").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
  std::ifstream file(err);
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(lineCount(said), 1) << said;
  EXPECT_THAT(said, HasSubstr("this build has no Python package, which takes Python's headers; "
                              "install libpython3-dev and build again"));
}

TEST_F(RecordTest, ATokenFileIsOfAJobOfSeveralHosts) {
  const auto ended = lockstep({"record", "--token-file", "t", "--", "true"});
  EXPECT_EQ(ended.exitCode, 2);
  EXPECT_THAT(ended.err, HasSubstr("--token-file: is for relays of other hosts, which come with "
                                   "--listen"));
}

TEST_F(RecordTest, SaysWhyARunThatTheJobRemovedHasNoSummary) {
  const std::string job =
      std::string(std::getenv("LOCKSTEP_SOURCE")) + "/tests/engine/launch/fake_job.py";
  const auto ended = lockstep({"record", "--out", "r.lockstep", "--", "sh", "-c",
                               "python3 '" + job + "' 2 3 && rm r.lockstep"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("steps of rank 1: 0..2"));
  EXPECT_THAT(ended.err, HasSubstr("lockstep: cannot read back the run: r.lockstep"));
}

TEST_F(RecordTest, KeepsAsMuchOfAJobAsItIsAskedTo) {
  const std::string job =
      std::string(std::getenv("LOCKSTEP_SOURCE")) + "/tests/engine/launch/fake_job.py";
  const auto ended = lockstep({"record", "--detail", "steps", "--limit-mb", "50", "--out",
                               "r.lockstep", "--", "python3", job, "2", "3"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("left out       steps have their phases, buckets and "
                                   "collectives, and no single gradients, copies and waits "
                                   "(capture.detail = steps)"));
  EXPECT_NE(lockstep({"record", "--detail", "some", "--", "true"}).exitCode, 0);
}

TEST_F(RecordTest, BringsItsPluginForNcclUnlessTheUserHasOne) {
  const auto job = [this] {
    return lockstep({"record", "--out", "r.lockstep", "--", "sh", "-c",
                     "echo plugin: $NCCL_PROFILER_PLUGIN"})
        .out;
  };
  EXPECT_THAT(job(), HasSubstr("python/lockstep/liblockstep_nccl_profiler.so\n"));
  setenv("NCCL_PROFILER_PLUGIN", "none", 1);
  EXPECT_EQ(job(), "plugin: none\n");
  unsetenv("NCCL_PROFILER_PLUGIN");
}

}  // namespace
}  // namespace lockstep::cli
