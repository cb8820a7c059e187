#include "engine/base/NumberText.h"

#include <gtest/gtest.h>

namespace lockstep::base {
namespace {

TEST(NumberText, WritesSizesInTheUnitsThatCapsAreGivenIn) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(512), "512 B");
  EXPECT_EQ(bytesText(4096), "4 KiB");
  EXPECT_EQ(bytesText(25 * kMiB), "25 MiB") << "as ddp.bucket_cap_mb = 25";
  EXPECT_EQ(bytesText(0.48 * kMiB), "492 KiB");
  EXPECT_EQ(bytesText(1.5 * kMiB), "1.50 MiB");
  EXPECT_EQ(bytesText(30.72 * kKiB), "30.7 KiB");
  EXPECT_EQ(bytesText(3e12), "2.73 TiB");
}

TEST(NumberText, TakesTheNextUnitBeforeANumberHasFourDigits) {
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1023.7 * kMiB), "1.00 GiB");
}

TEST(NumberText, TimesHaveThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(durationText(0), "0 ns");
  EXPECT_EQ(durationText(999), "999 ns");
  EXPECT_EQ(durationText(85e3), "85.0 µs");
  EXPECT_EQ(durationText(999.6e3), "1.00 ms");
  EXPECT_EQ(durationText(7.2e6), "7.20 ms");
  EXPECT_EQ(durationText(126e6), "126 ms");
  EXPECT_EQ(durationText(2.5e9), "2.50 s");
  EXPECT_EQ(durationText(-7.2e6), "-7.20 ms");
}

TEST(NumberText, MillisecondsHaveMoreDigitsWhereThereWouldBeNothingButZeros) {
  EXPECT_EQ(msText(0), "0");
  EXPECT_EQ(msText(0.0042), "0.0042");
  EXPECT_EQ(msText(0.042), "0.042");
  EXPECT_EQ(msText(12.3), "12.30");
  EXPECT_EQ(msText(126.42), "126.4");
}

TEST(NumberText, AnIntervalHasTheDigitsThatEachOfItsEndsNeeds) {
  EXPECT_EQ(msRangeText(9.8, 126.42), "9.80 to 126.4");
  EXPECT_EQ(msRangeText(-0.042, 0), "-0.042 to 0");
  EXPECT_EQ(percentRangeText(73.4, 69.6, 76.2), "73 % (70 to 76 %)");
}

TEST(NumberText, AShareHasAsManyDecimalsAsAreAskedFor) {
  EXPECT_EQ(percentText(12.34), "12.3 %");
  EXPECT_EQ(percentText(12.34, 0), "12 %");
}

TEST(NumberText, CountsAreGroupedByThousandsAndHaveTheRightNoun) {
  EXPECT_EQ(countText(0), "0");
  EXPECT_EQ(countText(999), "999");
  EXPECT_EQ(countText(1234567), "1,234,567");
  EXPECT_EQ(countedText(1, "rank"), "1 rank");
  EXPECT_EQ(countedText(0, "rank"), "0 ranks");
  EXPECT_EQ(countedText(12345, "rank"), "12,345 ranks");
  EXPECT_EQ(countedText(1, "batch", "batches"), "1 batch");
  EXPECT_EQ(countedText(2, "batch", "batches"), "2 batches");
}

TEST(NumberText, NumberedThingsAreListedAfterTheirNoun) {
  EXPECT_EQ(ranksText({3}), "rank 3");
  EXPECT_EQ(ranksText({0, 2, 5}), "ranks 0, 2, 5");
  EXPECT_EQ(ranksText({0, 2, 5, 6}, 2), "ranks 0, 2 and 2 more");
  EXPECT_EQ(numberedText("Bucket", {1, 2}), "Buckets 1, 2");
}

}  // namespace
}  // namespace lockstep::base
