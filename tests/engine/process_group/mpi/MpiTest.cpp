// The mpi backend, each case a job of mpirun's.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/base/ExitCodes.h"
#include "engine/store/HashStore.h"
#include "tests/engine/process_group/GroupThreads.h"
#include "tests/engine/process_group/mpi/Mpirun.h"
#include "tests/engine/process_group/mpi/RankGroup.h"
#include "tests/support/ChildRole.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::process_group {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string binary(const std::string& name) {
  const char* folder = std::getenv("LOCKSTEP_BIN");
  return std::string(folder == nullptr ? "build/bin" : folder) + "/" + name;
}

constexpr int kCommFailed = static_cast<int>(base::ExitCode::kCommFailed);

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (!mpirunPath()) {
      GTEST_SKIP() << "mpirun is not installed (openmpi-bin)";
    }
  }

  MpiJob run(int ranks, const std::vector<std::string>& arguments) {
    const std::string store = folder_ / "store";
    MpiJob job = runMpi(ranks, binary("lockstep_mpi_ranks"), arguments, {{kStoreVariable, store}},
                        seconds(100));
    std::ostringstream said;
    said << std::ifstream(saidFile(store)).rdbuf();
    job.output += said.str();
    return job;
  }
  MpiJob role(int ranks, const std::string& name, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), support::childRoleArgument(name));
    return run(ranks, arguments);
  }
  /// Tests that pass on every rank, after which the ranks end MPI and mpirun is content.
  void expectPass(const std::string& filter) {
    const MpiJob job = run(4, {"--gtest_brief=1", "--gtest_filter=" + filter});
    EXPECT_EQ(job.status, (support::ExitStatus{})) << job.output << job.errors;
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_THAT(job.output, HasSubstr(fmt::format("rank {}: all tests passed", rank)));
    }
    EXPECT_THAT(job.output, Not(HasSubstr(" 0 tests"))) << filter;
  }

  /// 200 rounds of AbortRounds.h.
  void expectNoStepLost(int ranks) {
    const MpiJob job = role(ranks, "aborts in rounds", {"200"});
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_THAT(job.output, HasSubstr(fmt::format("rank {}: lost 0 steps in all", rank)))
          << job.errors;
    }
  }

  support::TemporaryFolder folder_;
};

// But for the order of a sum, which is MPI's.
TEST_F(Mpi, DoesWhatEveryBackendDoes) {
  expectPass("*Collectives*:*ReduceOperations*:*BackendArguments*-*AllRanksTheSameBits*");
}

// But for tests whose ranks share memory, and for one of threads that do another's work.
TEST_F(Mpi, KeepsOperationsAndMessagesApart) {
  expectPass(
      "*Order*:*Stress*:*PointToPoint*:*AbortOfAMessage*-*BarrierEndsOnlyOnce*:*PassesAFirst*:"
      "*ThirdHasLeft*:"
      "*GivesUpAWait*:*ShareAThread*:*AnotherThreadLooks*");
}

TEST_F(Mpi, HasGroupsOfAnyRanks) {
  expectPass("MpiRanks.*");
}

TEST_F(Mpi, NamesWhatARankWaitedForWhenAnotherOneDoesNotCome) {
  const MpiJob job = role(3, "absent");
  for (const int rank : {0, 1}) {
    EXPECT_THAT(job.output, HasSubstr(fmt::format("rank {}, group late: timed out after 400 ms "
                                                  "waiting for rank 2 to join",
                                                  rank)));
    const std::string what = fmt::format(
        "timeout error: allreduce #2 of group default, rank {}, bucket 7: timed out after 400 ms, "
        "waiting for rank 2 to call it",
        rank);
    EXPECT_THAT(job.output,
                AllOf(HasSubstr(fmt::format("rank {}: {}", rank, what)),
                      HasSubstr(fmt::format("rank {}: state timeout", rank)),
                      HasSubstr(fmt::format("rank {}: later call completed true", rank))));
    EXPECT_THAT(job.output, HasSubstr(fmt::format(
                                "rank {0}: timeout error: allreduce #3 of group default, rank "
                                "{0}: given up because allreduce #2 failed: timed out after",
                                rank)));
    EXPECT_THAT(job.output,
                HasSubstr(fmt::format("rank {0}: timeout error: barrier #4 of group default, rank "
                                      "{0}: the group is broken: given up because allreduce #2",
                                      rank)));
  }
  EXPECT_EQ(job.status.code, kCommFailed) << job.errors;
  EXPECT_LT(job.took, seconds(20));
}

TEST_F(Mpi, AbortWakesAllWaitersOfItsRank) {
  const MpiJob job = role(2, "aborted");
  for (const char* operation :
       {"allreduce #1", "allreduce #2", "allreduce #3", "recv #1", "send #2"}) {
    EXPECT_THAT(job.output,
                HasSubstr(fmt::format("rank 0: {} of group default, rank 0: aborted: the "
                                      "user pressed stop",
                                      operation)));
  }
  EXPECT_THAT(job.output,
              AllOf(HasSubstr("woken within a second true"),
                    HasSubstr("aborted error: barrier #4 of group default, rank 0: the group is "
                              "broken: aborted: the user pressed stop")));
  EXPECT_EQ(job.status.code, kCommFailed) << job.errors;
}

// A job each: its groups meet in a store of its own.
TEST_F(Mpi, AbortUndoesNoStepOfTwoRanks) {
  expectNoStepLost(2);
}

TEST_F(Mpi, AbortUndoesNoStepOfThreeRanks) {
  expectNoStepLost(3);
}

TEST_F(Mpi, JobEndsWhenARankIsKilled) {
  const MpiJob job = role(2, "killed");
  EXPECT_NE(job.status, (support::ExitStatus{}));
  EXPECT_LT(job.took, seconds(20));
  EXPECT_THAT(job.output, Not(HasSubstr("no error")));
}

TEST_F(Mpi, JobTakesTheExitCodeOfARankThatFails) {
  const MpiJob job = role(2, "fails");
  EXPECT_EQ(job.status.code, static_cast<int>(base::ExitCode::kBadInput)) << job.errors;
  EXPECT_LT(job.took, seconds(20));
}

TEST_F(Mpi, NamesRanksThatCallAnotherSize) {
  const MpiJob job = role(3, "mismatched");
  EXPECT_THAT(job.output,
              HasSubstr("mismatch error: allreduce #1 of group checked, rank 0: the ranks do "
                        "not make the same call: the number of elements is 4 on ranks 0, "
                        "1 and 5 on rank 2"));
  EXPECT_THAT(job.output,
              ContainsRegex("mismatch error: reduce_scatter #1 of group default, rank 0: the ranks "
                            "do not make the same call: rank 2 sends more than the 16 bytes that "
                            "this rank expects"));
  EXPECT_THAT(job.output, HasSubstr("sends 16 bytes, this rank expects 20"));
}

TEST_F(Mpi, ASendThatMpiRefusesIsAnErrorThatNamesThePeer) {
  const MpiJob job = role(2, "refused");
  EXPECT_THAT(job.output, ContainsRegex("rank 0: backend error: send #1 of group default, rank 0: "
                                        "MPI_Isend: .*waiting for rank 1 to take data"));
  EXPECT_THAT(job.output, ContainsRegex("rank 0: backend error: recv #2 of group default, rank 0: "
                                        "the group is broken: given up because send #1 failed"));
  EXPECT_EQ(job.status.code, kCommFailed) << job.errors;
}

TEST_F(Mpi, AMessageOfABrokenGroupIsNotSent) {
  const MpiJob job = role(2, "aborted at send");
  for (const char* send : {"send #1", "send #2"}) {
    EXPECT_THAT(job.output, HasSubstr(fmt::format("aborted error: {} of group default", send)));
  }
  EXPECT_THAT(job.output, AllOf(HasSubstr("rank 0: has another group"),
                                HasSubstr("rank 1: has another group")));
  EXPECT_EQ(job.status.code, kCommFailed) << job.errors;
}

TEST_F(Mpi, RanksOfTwoJobsCannotMeet) {
  std::vector<support::ChildProcess> jobs;
  for (const char* rank : {"0", "1"}) {
    jobs.push_back(startMpi(1, binary("lockstep_mpi_ranks"),
                            {support::childRoleArgument("alone"), rank},
                            {{kStoreVariable, folder_ / "store"}}));
  }
  for (support::ChildProcess& job : jobs) {
    EXPECT_NE(job.wait().code, 0);
    EXPECT_THAT(job.output(), HasSubstr("the group has 2 ranks, and MPI_COMM_WORLD only this "
                                        "process; start as many with one mpirun or srun"));
  }
}

TEST(MpiAlone, SaysThatItNeedsMpirun) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr) {
    GTEST_SKIP() << "these tests run under mpirun themselves";
  }
  const auto made = makeProcessGroup("mpi", std::make_shared<store::HashStore>(), 1, 4);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, base::ExitCode::kEnvironment);
  EXPECT_EQ(made.error().message(),
            "rank 1, group default: the mpi backend needs 4 processes that know each other through "
            "MPI, and this one was started alone; start the ranks with mpirun or srun (mpirun -n 4 "
            "lockstep-rank FILE)");
}

TEST(MpiAlone, SaysThatSrunNeedsToBeToldOfMpi) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr) {
    GTEST_SKIP() << "these tests run under mpirun themselves";
  }
  setenv("SLURM_PROCID", "1", 1);
  const auto made = makeProcessGroup("mpi", std::make_shared<store::HashStore>(), 1, 4);
  unsetenv("SLURM_PROCID");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, base::ExitCode::kEnvironment);
  EXPECT_THAT(made.error().message(),
              AllOf(HasSubstr("the mpi backend needs 4 processes that know each other through MPI, "
                              "and srun has told this one nothing of the others"),
                    HasSubstr("--launcher-arg=--mpi=pmix")));
}

TEST(MpiAlone, GroupOfOneNeedsNoMpi) {
  runGroup(
      1,
      [](ProcessGroup& group) {
        at::Tensor tensor = filled(3, 2);
        group.allreduce({tensor}, ReduceOp::kAverage)->wait();
        at::Tensor output = at::empty({3});
        group.reduceScatter(output, {tensor})->wait();
        EXPECT_TRUE(at::equal(output, filled(3, 2)));
        group.barrier()->wait();
        group.abort("enough");
        EXPECT_EQ(group.state(), GroupState::kCommError);
        EXPECT_THROW(group.barrier()->wait(), CommError);
      },
      quickOptions(), "mpi");
}

// --- Training ---

std::uint16_t freePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

std::vector<std::string> hashes(const std::string& log) {
  std::vector<std::string> found;
  const std::string mark = "parameter hash ";
  for (std::size_t at = log.find(mark); at != std::string::npos; at = log.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    found.push_back(log.substr(begin, log.find_first_of(" \r\n", begin) - begin));
  }
  return found;
}

TEST_F(Mpi, TrainsTheDemoToTheParametersOfAnotherBackend) {
  const char* source = std::getenv("LOCKSTEP_SOURCE");
  ASSERT_NE(source, nullptr);
  const auto train = [&](const std::string& backend) {
    const MpiJob job =
        runMpi(2, binary("lockstep-rank"),
               {std::string(source) + "/experiments/first_steps/demo.toml", "--set",
                "train.steps=10", "--set", "processes.backend=" + backend},
               {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", fmt::format("{}", freePort())}});
    EXPECT_EQ(job.status, (support::ExitStatus{})) << job.output << job.errors;
    return hashes(job.output + job.errors);
  };
  const auto overMpi = train("mpi");
  ASSERT_EQ(overMpi.size(), 2u);
  EXPECT_EQ(overMpi[0], overMpi[1]);
  // The sum of two has one order only.
  EXPECT_EQ(overMpi, train("shared_memory"));
}

}  // namespace
}  // namespace lockstep::process_group
