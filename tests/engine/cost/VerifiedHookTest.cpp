#include "engine/cost/VerifiedHook.h"

#include <gmock/gmock.h>

namespace lockstep::cost {
namespace {

using testing::HasSubstr;

/// 1,000 elements of 4 bytes in two buckets; what is sent is `share` of what an allreduce would.
/// Before they travel 2 ns a byte are worked, and after it 1.
VerifiedOnRanks onRanks(int ranks, double share) {
  VerifiedOnRanks run;
  run.ranks = ranks;
  run.sameResult = true;
  run.elements = 1000;
  run.bytes = 4000;
  run.sentBytes = static_cast<std::uint64_t>(share * 2 * (ranks - 1) / ranks * 4000);
  run.aroundStepNs = 70;
  for (const std::uint64_t bytes : {1000u, 3000u}) {
    run.calls.encode.push_back({bytes, 2.0 * static_cast<double>(bytes), false});
    run.calls.decode.push_back({bytes, 1.0 * static_cast<double>(bytes), false});
  }
  return run;
}

VerifiedHook halving() {
  VerifiedHook hook;
  hook.hook.name = "fp16";
  hook.runs = {onRanks(2, 0.5), onRanks(4, 0.5)};
  return hook;
}

TEST(VerifiedHookTest, SendsAShareOfAnAllreduceAndWorksByTheByte) {
  const auto told = verifiedWork(halving(), {2, 64}, 2000);
  ASSERT_TRUE(told.ok()) << told.error().what;
  EXPECT_NEAR(*told.value().work.share, 0.5, 1e-3);
  EXPECT_NEAR(told.value().work.encode.nsPerByte, 2, 1e-9);
  EXPECT_NEAR(told.value().work.decode.nsPerByte, 1, 1e-9);
  EXPECT_NEAR(told.value().work.aroundStepNs, 70, 1e-9);
  EXPECT_NEAR(told.value().work.offNs, 0, 1e-6);
  EXPECT_FALSE(told.value().work.transfer) << "on no link of a run";
  EXPECT_EQ(told.value().text,
            "The hook fp16 is taken as it was verified on this machine, on 2 and 4 ranks: of each "
            "4 bytes it sends 2.00, counted as one allreduce, and it works 6.00 µs on a bucket of "
            "1.95 KiB, give or take 0 ns.");
}

TEST(VerifiedHookTest, OfLargerBucketsItIsLessSure) {
  const auto told = verifiedWork(halving(), {2}, 30'000);
  ASSERT_TRUE(told.ok()) << told.error().what;
  EXPECT_NEAR(told.value().work.offNs, 45'000, 1e-6) << "half of 3 ns a byte";
  EXPECT_THAT(
      told.value().text,
      HasSubstr("it works 90.0 µs on a bucket of 29.3 KiB, give or take 45.0 µs. Buckets so "
                "large it was not verified with: 2.93 KiB were the most."));
}

// What a hook gathers comes from every other rank.
TEST(VerifiedHookTest, WhatIsGatheredIsKnownOfRanksThatWereVerified) {
  VerifiedHook hook = halving();
  hook.runs = {onRanks(2, 0.1), onRanks(4, 0.2)};
  const auto two = verifiedWork(hook, {2}, 2000);
  ASSERT_TRUE(two.ok()) << two.error().what;
  EXPECT_NEAR(*two.value().work.share, 0.1, 1e-3);
  EXPECT_EQ(verifiedWork(hook, {8}, 2000).error().what,
            "fp16 sends otherwise among other ranks than an allreduce does, and was verified on 2 "
            "and 4 ranks");
  EXPECT_FALSE(verifiedWork(hook, {2, 4}, 2000).ok()) << "no share is that of both";
}

TEST(VerifiedHookTest, SaysWhatAVerificationDoesNotTell) {
  VerifiedHook silent = halving();
  silent.runs[1].sentBytes = 0;
  EXPECT_EQ(verifiedWork(silent, {2}, 2000).error().what,
            "the verification of fp16 saw it send nothing");
  EXPECT_FALSE(verifiedWork({}, {2}, 2000).ok());
  VerifiedHook drifting = halving();
  drifting.runs[0].sameResult = false;
  EXPECT_EQ(verifiedWork(drifting, {2}, 2000).error().what,
            "fp16 leaves ranks with unlike results, so that its steps are not alike; a run with "
            "that hook tells more");
}

}  // namespace
}  // namespace lockstep::cost
