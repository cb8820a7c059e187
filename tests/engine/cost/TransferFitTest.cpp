#include "engine/cost/TransferFit.h"

#include <gmock/gmock.h>

#include <random>

namespace lockstep::cost {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kKiB = 1024;

/// 200 us and 4 ns a byte.
std::vector<TransferSample> onALine(const std::vector<std::uint64_t>& sizes, int times = 1) {
  std::vector<TransferSample> samples;
  for (int i = 0; i < times; ++i) {
    for (const std::uint64_t bytes : sizes) {
      samples.push_back({bytes, 2e5 + 4.0 * static_cast<double>(bytes), false});
    }
  }
  return samples;
}

TEST(TransferFit, FindsLatencyAndTimeAByte) {
  const auto fit = fitTransfers(onALine({100 * kKiB, 300 * kKiB, 900 * kKiB}), std::nullopt);
  ASSERT_TRUE(fit.ok()) << fit.error().what;
  EXPECT_NEAR(fit.value().cost.latencyNs, 2e5, 1e-3);
  EXPECT_NEAR(fit.value().cost.nsPerByte, 4, 1e-9);
  EXPECT_NEAR(fit.value().errorPercent, 0, 1e-9);
  EXPECT_EQ(fit.value().samples, 3u);
  EXPECT_EQ(fit.value().leastBytes, 100 * kKiB);
  EXPECT_EQ(fit.value().mostBytes, 900 * kKiB);
  EXPECT_FALSE(fit.value().bySettings);
}

// Two of nine times are ten times too long: a line by least squares would bend.
TEST(TransferFit, IsNotBentByAFewThatTookFarTooLong) {
  auto samples = onALine({100 * kKiB, 300 * kKiB, 900 * kKiB}, 3);
  samples[2].ns *= 10;
  samples[3].ns *= 10;
  const auto fit = fitTransfers(samples, std::nullopt);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit.value().cost.latencyNs, 2e5, 1);
  EXPECT_NEAR(fit.value().cost.nsPerByte, 4, 1e-4);
}

TEST(TransferFit, CannotTellFromSizesThatAreAlike) {
  EXPECT_EQ(fitTransfers({}, std::nullopt).error().what,
            "no transfer of a bucket was recorded by all ranks");
  EXPECT_THAT(fitTransfers(onALine({100 * kKiB}, 9), std::nullopt).error().what,
              HasSubstr("too alike in size to tell latency from bandwidth"));
  EXPECT_FALSE(fitTransfers(onALine({100 * kKiB, 190 * kKiB}, 9), std::nullopt).ok());
  EXPECT_TRUE(fitTransfers(onALine({100 * kKiB, 200 * kKiB}, 9), std::nullopt).ok());
}

// The probe was made while nothing else ran: a line through both would take what the run adds to
// each of its transfers for a time a byte.
TEST(TransferFit, AProbeTellsTheSlopeAndTheRunTheRest) {
  const std::vector<TransferSample> own(9, {300 * kKiB, 5e5 + 4.0 * 300 * kKiB, false});
  const auto fit = fitTransfers(own, std::nullopt, onALine({4 * kKiB, 64 * kKiB, 1024 * kKiB}));
  ASSERT_TRUE(fit.ok()) << fit.error().what;
  EXPECT_NEAR(fit.value().cost.nsPerByte, 4, 1e-9);
  EXPECT_NEAR(fit.value().cost.latencyNs, 5e5, 1e-3);
  EXPECT_EQ(fit.value().mostBytes, 1024 * kKiB);
  EXPECT_FALSE(fitTransfers(own, std::nullopt, onALine({4 * kKiB})).ok());
}

TEST(TransferFit, NeitherLatencyNorTimeAByteIsBelowZero) {
  const auto steep = fitTransfers({{100, 10, false}, {200, 40, false}}, std::nullopt);
  ASSERT_TRUE(steep.ok());
  EXPECT_EQ(steep.value().cost.latencyNs, 0);
  EXPECT_GT(steep.value().cost.nsPerByte, 0);
  const auto falling = fitTransfers({{100, 40, false}, {200, 10, false}}, std::nullopt);
  ASSERT_TRUE(falling.ok());
  EXPECT_EQ(falling.value().cost.nsPerByte, 0);
}

// Of one size alone: what the settings say of a byte is kept, and 70 us come on top of each, 30 of
// which the line is no longer taken for, since those that queue take only 40.
TEST(TransferFit, TakesTheTimeAByteFromTheSettings) {
  std::vector<TransferSample> samples;
  for (int i = 0; i < 10; ++i) {
    samples.push_back({100 * kKiB, 2e5 + 4.0 * 100 * kKiB + 7e4, false});
    samples.push_back({100 * kKiB, 2e5 + 4.0 * 100 * kKiB + 4e4, true});
  }
  const auto fit = fitTransfers(samples, KnownTransfer{4, 2e5});
  ASSERT_TRUE(fit.ok()) << fit.error().what;
  EXPECT_TRUE(fit.value().bySettings);
  EXPECT_EQ(fit.value().cost.nsPerByte, 4);
  EXPECT_NEAR(fit.value().cost.latencyNs, 2.4e5, 1e-6);
  EXPECT_NEAR(fit.value().cost.noticeNs, 3e4, 1e-6);
  EXPECT_NEAR(fit.value().errorPercent, 0, 1e-9);
}

TEST(TransferFit, DoesNotTakeChanceForWhatComesOnTop) {
  std::vector<TransferSample> samples;
  for (int i = 0; i < 9; ++i) {
    samples.push_back({100 * kKiB, 2e5 + 4.0 * 100 * kKiB + 2e4 * (i - 3), i % 2 == 0});
  }
  const auto fit = fitTransfers(samples, KnownTransfer{4, 2e5});
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit.value().cost.latencyNs, 2e5);
  EXPECT_EQ(fit.value().cost.noticeNs, 0);
}

TEST(TransferFit, BelievesTheRunWhereItIsClearlySlowerThanItsSettings) {
  const auto fit =
      fitTransfers(onALine({100 * kKiB, 300 * kKiB, 900 * kKiB}, 3), KnownTransfer{0.5, 1e3});
  ASSERT_TRUE(fit.ok());
  EXPECT_FALSE(fit.value().bySettings);
  EXPECT_NEAR(fit.value().cost.nsPerByte, 4, 1e-9);
}

// 2 Gbit/s are 4 ns a byte; of two ranks each byte passes once, of four 1.5 times; 2 (n - 1) hops.
TEST(TransferFit, TheSettingsOfALinkSayWhatAnAllreduceTakes) {
  LinkOptions link;
  link.link = {2, 500};
  const auto two = knownTransfer(link, 2);
  ASSERT_TRUE(two.has_value());
  EXPECT_NEAR(two->nsPerByte, 4, 1e-3);
  EXPECT_NEAR(two->latencyNs, 1e6, 1);
  const auto four = knownTransfer(link, 4, 0.5);
  ASSERT_TRUE(four.has_value());
  EXPECT_NEAR(four->nsPerByte, 3, 1e-3) << "half of the bytes, 1.5 times each";
  EXPECT_NEAR(four->latencyNs, 3e6, 1);
  link.link.bandwidthGbps = 0;
  EXPECT_FALSE(knownTransfer(link, 2).has_value());
  EXPECT_FALSE(knownTransfer({}, 2).has_value());
}

}  // namespace
}  // namespace lockstep::cost
