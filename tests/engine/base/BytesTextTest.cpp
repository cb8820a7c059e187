#include "engine/base/BytesText.h"

#include <gtest/gtest.h>

namespace lockstep::base {
namespace {

TEST(BytesText, WritesSizesInTheUnitsThatCapsAreGivenIn) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(512), "512 B");
  EXPECT_EQ(bytesText(4096), "4 KiB");
  EXPECT_EQ(bytesText(25 * kMiB), "25 MiB") << "as ddp.bucket_cap_mb = 25";
  EXPECT_EQ(bytesText(0.48 * kMiB), "492 KiB");
  EXPECT_EQ(bytesText(1.5 * kMiB), "1.50 MiB");
  EXPECT_EQ(bytesText(30.72 * kKiB), "30.7 KiB");
  EXPECT_EQ(bytesText(3e12), "2.73 TiB");
}

TEST(BytesText, TakesTheNextUnitBeforeANumberHasFourDigits) {
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1023.7 * kMiB), "1.00 GiB");
}

}  // namespace
}  // namespace lockstep::base
