#include "engine/store/MeetRanks.h"

#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <mutex>

#include "engine/store/HashStore.h"
#include "engine/store/TCPStore.h"
#include "tests/engine/store/StoreFixtures.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/RankThreads.h"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

/// Claims a rank at a store and prints how that ended. Arguments: port, rank, world size.
int claimRank(const std::vector<std::string>& arguments) {
  TCPStore store("127.0.0.1", clientOptions(portFrom(arguments.at(0))));
  const auto met =
      meetRanks(store, {std::stoi(arguments.at(1)), std::stoi(arguments.at(2)), "job"});
  std::printf("%s\n", met.ok() ? "met" : met.error().message().c_str());
  return met.ok() ? 0 : static_cast<int>(met.error().code);
}

const support::RegisterChildRole claiming("claim-rank", claimRank);

TEST(MeetRanks, ReturnsOnceAllHaveCome) {
  HashStore store(30s);
  std::atomic<int> come = 0;
  support::runRanks(4, [&](int rank) {
    ++come;
    const auto met = meetRanks(store, {rank, 4, "job"});
    EXPECT_TRUE(met.ok()) << met.error().message();
    EXPECT_EQ(come, 4);
  });
}

TEST(MeetRanks, TellsBothProcessesThatHaveOneRank) {
  TCPStore server("127.0.0.1", serverOptions());
  const std::string port = std::to_string(server.port());
  auto first = support::ChildProcess::self("claim-rank", {port, "1", "3"});
  EXPECT_TRUE(isRegistered(server, {0, 3, "job"}, 1, 30s));
  auto other = support::ChildProcess::self("claim-rank", {port, "2", "3"});
  auto second = support::ChildProcess::self("claim-rank", {port, "1", "3"});
  const std::string sentence = "rank 1 is registered by host .* pid " +
                               std::to_string(first.pid()) + " and again by host .* pid " +
                               std::to_string(second.pid()) + "; start each rank once";
  for (auto* process : {&first, &second, &other}) {
    EXPECT_EQ(process->wait().code, static_cast<int>(ExitCode::kBadInput));
    EXPECT_THAT(process->output(), MatchesRegex(sentence + "\n"));
  }
}

TEST(MeetRanks, SaysThatTheHolderOfTheRankHasEnded) {
  TCPStore server("127.0.0.1", serverOptions());
  auto dead = support::ChildProcess::self("claim-rank", {std::to_string(server.port()), "1", "2"});
  EXPECT_TRUE(isRegistered(server, {0, 2, "job"}, 1, 30s));
  dead.kill(SIGKILL);
  dead.wait();
  const auto met = meetRanks(server, {1, 2, "job"});
  ASSERT_FALSE(met.ok());
  EXPECT_THAT(met.error().message(),
              AllOf(HasSubstr("pid " + std::to_string(dead.pid()) + " (which has ended"),
                    HasSubstr("name the job")));
}

TEST(MeetRanks, TellsOnlyTheIntruderOnceAllHaveMet) {
  HashStore store(30s);
  support::runRanks(2, [&](int rank) { EXPECT_TRUE(meetRanks(store, {rank, 2, "job"}).ok()); });
  const auto late = meetRanks(store, {1, 2, "job"});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ExitCode::kBadInput);
  EXPECT_THAT(late.error().message(), HasSubstr("rank 1 is registered by"));
}

TEST(MeetRanks, TellsAllThatTheirWorldSizesDiffer) {
  HashStore store(30s);
  std::mutex mutex;
  std::vector<std::string> texts;
  support::runRanks(2, [&](int rank) {
    const auto met = meetRanks(store, {rank, rank == 0 ? 3 : 4, "job"});
    ASSERT_FALSE(met.ok());
    EXPECT_EQ(met.error().code, ExitCode::kBadInput);
    std::lock_guard lock(mutex);
    texts.push_back(met.error().message());
  });
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_THAT(texts[0], AllOf(HasSubstr("3 for rank 0"), HasSubstr("4 for rank 1"),
                              HasSubstr("give all ranks the same")));
}

TEST(MeetRanks, KnowsWhenAllHaveLearntHowItEnded) {
  HashStore store(30s);
  support::runRanks(3, [&](int rank) {
    EXPECT_TRUE(meetRanks(store, {rank, 3, "job"}).ok());
    EXPECT_TRUE(awaitFarewells(store, {rank, 3, "job"}, 30s));
  });
}

TEST(MeetRanks, WaitsInVainForWhoDiedInTheMeeting) {
  TCPStore server("127.0.0.1", serverOptions());
  auto dead = support::ChildProcess::self("claim-rank", {std::to_string(server.port()), "1", "2"});
  EXPECT_TRUE(isRegistered(server, {0, 2, "job"}, 1, 30s));
  dead.kill(SIGKILL);
  dead.wait();
  EXPECT_FALSE(meetRanks(server, {1, 2, "job"}).ok());
  EXPECT_FALSE(awaitFarewells(server, {0, 2, "job"}, 10ms));
}

TEST(MeetRanks, NamesTheRanksThatDoNotCome) {
  HashStore store(50ms);
  const auto met = meetRanks(store, {2, 4, "job"});
  ASSERT_FALSE(met.ok());
  EXPECT_EQ(met.error().code, ExitCode::kCommFailed);
  EXPECT_THAT(met.error().message(),
              HasSubstr("timeout after 50 ms: waiting for ranks 0, 1, 3 of 4"));
}

TEST(MeetRanks, TellsTheLateThatTheOthersHaveGivenUp) {
  HashStore store(10ms);
  EXPECT_FALSE(meetRanks(store, {0, 2, "job"}).ok());
  const auto late = meetRanks(store, {1, 2, "job"});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ExitCode::kCommFailed);
  EXPECT_THAT(late.error().message(),
              AllOf(HasSubstr("rank 0 (host "), HasSubstr("gave up after 10 ms"),
                    HasSubstr("waiting for rank 1")));
}

TEST(MeetRanks, KeepsJobsApartThatShareAStore) {
  HashStore store(30s);
  for (const std::string job : {"monday", "tuesday"}) {
    EXPECT_TRUE(meetRanks(store, {0, 1, job}).ok());
  }
}

TEST(MeetRanks, RefusesARankOutsideTheWorld) {
  HashStore store;
  EXPECT_THAT(meetRanks(store, {2, 2, ""}).error().message(),
              HasSubstr("rank 2 is outside a world of 2"));
}

}  // namespace
}  // namespace lockstep::store
