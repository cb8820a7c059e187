#include "engine/launch/detail/TraceRequest.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lockstep::launch::detail {
namespace {

using testing::HasSubstr;

class TraceRequest : public testing::Test {
 protected:
  TraceRequest() {
    for (int rank = 0; rank < 2; ++rank) {
      segments_.push_back(trace::Segment::create({1, 8, 64}).value());
    }
    for (int rank = 0; rank < 2; ++rank) {
      ranks_.push_back(
          {rank, getpid(), true, false, "", &segments_[static_cast<std::size_t>(rank)].header()});
    }
  }

  std::string refusal(int steps = 3) {
    const auto asked = requestTraces(ranks_, steps);
    return asked.ok() ? "" : asked.error().message();
  }

  std::uint32_t requested(std::size_t rank) { return ranks_[rank].header->traceRequested.load(); }

  std::vector<trace::Segment> segments_;
  std::vector<TracedRank> ranks_;
};

TEST_F(TraceRequest, AsksEveryRankForTheSameAndAgainOnceItIsOver) {
  EXPECT_EQ(refusal(3), "");
  EXPECT_EQ(requested(0), 1u << 16 | 3u);
  EXPECT_EQ(requested(1), requested(0));
  ranks_[0].header->traceDone = requested(0);
  EXPECT_THAT(refusal(5),
              HasSubstr("a capture of 3 iterations is under way: rank 1 has not ended it"));
  ranks_[1].header->traceDone = requested(1);
  EXPECT_EQ(refusal(5), "");
  EXPECT_EQ(requested(0), 2u << 16 | 5u);
  ranks_[0].header->traceDone = requested(0);
  ranks_[1].header->traceDone = requested(1);
  EXPECT_EQ(refusal(1), "");
  EXPECT_THAT(refusal(1), HasSubstr("a capture of 1 iteration is under way: rank 0"));
}

TEST_F(TraceRequest, AsksNobodyWhereARankIsNotThere) {
  ranks_[1].isHere = false;
  EXPECT_THAT(refusal(), HasSubstr("rank 1 of this job is not there to be traced"));
  EXPECT_EQ(requested(0), 0u);
  ranks_[0].isHere = false;
  EXPECT_THAT(refusal(), HasSubstr("no rank of this job is there to be traced"));
  ranks_.clear();
  EXPECT_THAT(refusal(), HasSubstr("no rank of this job is there to be traced"));
}

TEST_F(TraceRequest, GivesTheWordThatThoseOfOtherHostsAreToldAndKnowsThemByTheirCopies) {
  ranks_[1].otherHost = "b";
  EXPECT_EQ(requestTraces(ranks_, 3).value(), 1u << 16 | 3u);
  EXPECT_EQ(requested(1), 1u << 16 | 3u);
  ranks_[0].header->traceDone = requested(0);
  EXPECT_THAT(refusal(), HasSubstr("rank 1 has not ended it"));
}

TEST_F(TraceRequest, OfAProcessThatTakesAnothersPlaceNothingIsAwaited) {
  EXPECT_EQ(refusal(3), "");
  ranks_[0].header->traceDone = requested(0);
  forgetTraces(*ranks_[1].header);
  EXPECT_EQ(refusal(5), "");
  EXPECT_EQ(requested(1), 2u << 16 | 5u);
}

TEST_F(TraceRequest, NamesTheHostOfARankThatIsStoppedElsewhere) {
  ranks_[1].otherHost = "b";
  ranks_[1].pid = 4711;
  ranks_[1].isStopped = true;
  EXPECT_THAT(refusal(), HasSubstr("rank 1 is stopped and would not trace; let it go on (kill "
                                   "-CONT 4711 on b)"));
}

TEST_F(TraceRequest, AsksNobodyWhereARankIsStopped) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ranks_[1].pid = child;
  ranks_[1].isStopped = isStopped(child);
  EXPECT_THAT(refusal(),
              HasSubstr("rank 1 is stopped and would not trace; let it go on (kill -CONT " +
                        std::to_string(child) + ")"));
  EXPECT_EQ(requested(0), 0u);
  EXPECT_FALSE(isStopped(getpid()));
  EXPECT_FALSE(isStopped(0));
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
}

}  // namespace
}  // namespace lockstep::launch::detail
