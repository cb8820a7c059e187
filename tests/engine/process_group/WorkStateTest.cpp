#include "engine/process_group/WorkState.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <thread>

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

CommError::Where where() {
  CommError::Where where;
  where.group = "default";
  where.rank = 0;
  where.operation = trace::Operation::kRecv;
  where.sequence = 7;
  return where;
}

TEST(WorkState, HandsOverItsOutputsOnceDone) {
  const at::Tensor output = at::ones({3});
  WorkState work(where(), {output}, milliseconds(1000));
  EXPECT_FALSE(work.isCompleted());
  EXPECT_FALSE(work.isSuccess());
  EXPECT_THROW(static_cast<void>(work.result()), CommError);
  std::vector<at::Tensor> seen;
  work.future().whenComplete([&](const auto& future) { seen = future.value(); });
  EXPECT_TRUE(work.succeed());
  EXPECT_TRUE(work.isSuccess());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].is_same(output));
  EXPECT_TRUE(work.result()[0].is_same(output));
  EXPECT_EQ(work.operation(), trace::Operation::kRecv);
  EXPECT_EQ(work.sequence(), 7u);
}

TEST(WorkState, SaysThatItsResultIsNotThereYet) {
  const WorkState work(where(), {}, milliseconds(1000));
  try {
    static_cast<void>(work.result());
    FAIL() << "there was a result";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("result() before the operation was done; call wait() first"));
  }
}

TEST(WorkState, RethrowsItsErrorOnEveryWait) {
  WorkState work(where(), {}, milliseconds(1000));
  EXPECT_TRUE(work.fail(std::make_exception_ptr(CommError(where(), "lost"))));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(work.wait(), CommError);
  }
  EXPECT_NE(work.exception(), nullptr);
  EXPECT_TRUE(work.isCompleted());
  EXPECT_FALSE(work.isSuccess());
  EXPECT_THROW(static_cast<void>(work.result()), CommError);
}

TEST(WorkState, EndsOnceWhoeverComesFirst) {
  WorkState work(where(), {}, milliseconds(1000));
  EXPECT_TRUE(work.succeed());
  EXPECT_FALSE(work.fail(std::make_exception_ptr(CommError(where(), "late"))));
  EXPECT_FALSE(work.succeed());
  EXPECT_TRUE(work.isSuccess());
}

TEST(WorkState, SaysWhatItWaitedForWhenTheTimePasses) {
  WorkState work(where(), {}, milliseconds(60'000),
                 {.abort = nullptr, .waitingFor = [] { return "waiting for data from rank 1"; }});
  try {
    work.wait(milliseconds(1));
    FAIL() << "the wait returned";
  } catch (const CommError& error) {
    EXPECT_TRUE(error.where().timedOut);
    EXPECT_STREQ(error.what(),
                 "recv #7 of group default, rank 0: timed out: not done after 1 ms of waiting, "
                 "waiting for data from rank 1");
  }
  EXPECT_FALSE(work.isCompleted());
}

TEST(WorkState, PassesAnAbortToItsBackendUntilItHasEnded) {
  int aborts = 0;
  WorkState work(where(), {}, milliseconds(1000), {[&] { ++aborts; }, nullptr});
  work.abort();
  EXPECT_EQ(aborts, 1);
  work.succeed();
  work.abort();
  EXPECT_EQ(aborts, 1);
}

TEST(WorkState, WakesAWaiterOnAnotherThread) {
  WorkState work(where(), {}, milliseconds(60'000));
  std::thread waiter([&] { work.wait(); });
  work.succeed();
  waiter.join();
}

}  // namespace
}  // namespace lockstep::process_group
