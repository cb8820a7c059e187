#include "engine/import/JobClock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::imports {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;

/// A rank whose allreduces were from begin to end; its clock tells the time of day.
JobRank rank(const std::string& host, const std::vector<std::pair<int, int>>& stays) {
  JobRank made;
  made.hostName = host;
  made.tellsTheTime = true;
  made.epochNs = kEpoch;
  made.lastNs = 1000;
  for (const auto& [begin, end] : stays) {
    RankCall& call = made.timeline.calls.emplace_back();
    call.facts.operation = trace::Operation::kAllreduce;
    call.flew = true;
    call.beginNs = begin;
    call.endNs = end;
    call.askedNs = begin;
  }
  return made;
}

std::vector<JobHost> hosts(const Job& job) {
  std::vector<std::string> notes;
  return hostsOf(job, numberCalls(job, notes));
}

TEST(JobClock, RanksOfOneHostHaveOneClock) {
  const auto found = hosts({{0, rank("alpha", {{10, 50}})}, {1, rank("alpha", {{40, 51}})}});
  ASSERT_EQ(found.size(), 1);
  EXPECT_THAT(found[0].ranks, ElementsAre(0, 1));
}

TEST(JobClock, AnotherHostIsPlacedByWhatCollectivesAllow) {
  // True times: 10 to 50 and 45 to 52; the second clock is 300 ahead.
  const auto found = hosts({{0, rank("alpha", {{10, 50}, {110, 160}})},
                            {1, rank("beta", {{345, 352}, {405, 462}})}});
  ASSERT_EQ(found.size(), 2);
  // Not before it began there: at least 345 - 50; at most 352 - 10 and 462 - 110.
  EXPECT_EQ(found[1].offset.offsetNs, 295 + (342 - 295) / 2);
  EXPECT_EQ(found[1].offset.uncertaintyNs, (342 - 295) / 2);
  EXPECT_EQ(found[1].note, "");
}

TEST(JobClock, RanksWithoutAHostHaveAClockEach) {
  const auto found = hosts({{0, rank("", {{10, 50}})}, {1, rank("", {{10, 50}})}});
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[1].name, "host of rank 1");
}

TEST(JobClock, SaysThatAClockCannotBeSet) {
  EXPECT_EQ(hosts({{0, rank("alpha", {{10, 50}})}, {1, rank("beta", {})}})[1].note,
            "the clock of beta cannot be set against that of alpha: there is no collective that "
            "both carried out; times of the two are not to be compared");
  EXPECT_EQ(hosts({{0, rank("alpha", {{10, 20}, {100, 110}})},
                   {1, rank("beta", {{310, 320}, {900, 910}})}})[1]
                .note,
            "the clock of beta cannot be set against that of alpha: their collectives contradict "
            "each other; times of the two are not to be compared");
}

TEST(JobClock, NumbersTheCollectivesOfEachIteration) {
  Job job{{0, rank("a", {{1, 2}, {3, 4}, {5, 6}})}, {1, rank("a", {{3, 4}, {5, 6}})}};
  job[0].timeline.calls[0].step = 4;
  job[0].timeline.calls[1].step = job[0].timeline.calls[2].step = 5;
  job[1].timeline.calls[0].step = job[1].timeline.calls[1].step = 5;
  std::vector<std::string> notes;
  const CallNumbers numbers = numberCalls(job, notes);
  EXPECT_EQ(numbers.at(0)[1].sequence, numbers.at(1)[0].sequence);
  EXPECT_EQ(numbers.at(0)[2].sequence, numbers.at(1)[1].sequence);
  EXPECT_NE(numbers.at(0)[0].sequence, numbers.at(0)[1].sequence);
  EXPECT_THAT(notes, IsEmpty());
}

TEST(JobClock, TakesTheNumbersOfTheGroupWhereTheyAreThere) {
  Job job{{0, rank("a", {{1, 2}})}, {1, rank("a", {{3, 4}})}};
  job[0].timeline.calls[0].facts.sequence = 70;
  job[1].timeline.calls[0].facts.sequence = 71;
  job[1].timeline.calls[0].facts.group = "12 [1]";
  std::vector<std::string> notes;
  const CallNumbers numbers = numberCalls(job, notes);
  EXPECT_EQ(numbers.at(0)[0].sequence, 70);
  EXPECT_EQ(numbers.at(0)[0].group, 0);
  EXPECT_EQ(numbers.at(1)[0].sequence, 71);
  EXPECT_EQ(numbers.at(1)[0].group, 1);
}

TEST(JobClock, SaysThatTheRanksHaveOtherCollectives) {
  Job job{{0, rank("a", {{1, 2}})}, {1, rank("a", {{3, 4}})}};
  job[1].timeline.calls[0].facts.operation = trace::Operation::kBroadcast;
  std::vector<std::string> notes;
  numberCalls(job, notes);
  EXPECT_THAT(notes, ElementsAre("the ranks made different collectives in iteration 0: calls with "
                                 "the same number need not belong together"));
}

}  // namespace
}  // namespace lockstep::imports
