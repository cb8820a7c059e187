#include "engine/store/detail/Wire.h"

#include <gmock/gmock.h>

#include <limits>

namespace lockstep::store::detail {
namespace {

TEST(Wire, ReadsBackWhatItWrote) {
  std::string bytes;
  WireWriter writer(bytes);
  writer.u8(255);
  writer.u32(0xfedcba98U);
  writer.i64(std::numeric_limits<std::int64_t>::min());
  writer.text(std::string("\0x", 2));
  writer.texts({"", "two"});
  WireReader reader(bytes);
  EXPECT_EQ(reader.u8(), 255);
  EXPECT_EQ(reader.u32(), 0xfedcba98U);
  EXPECT_EQ(reader.i64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(reader.text(), std::string("\0x", 2));
  EXPECT_EQ(reader.texts(), (std::vector<std::string>{"", "two"}));
  EXPECT_TRUE(reader.atEnd());
}

TEST(Wire, PutsTheLowByteFirst) {
  std::string bytes;
  WireWriter(bytes).u32(1);
  EXPECT_EQ(bytes, std::string("\1\0\0\0", 4));
}

TEST(Wire, GivesNothingForATextCutShort) {
  std::string bytes;
  WireWriter(bytes).texts({"one", "two"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(WireReader(std::string_view(bytes).substr(0, size)).texts(), std::nullopt) << size;
  }
}

TEST(Wire, RefusesLengthsBeyondTheirLimit) {
  std::string bytes;
  WireWriter(bytes).text("four");
  EXPECT_EQ(WireReader(bytes).text(3), std::nullopt);
  std::string many;
  WireWriter(many).u32(static_cast<std::uint32_t>(kMostKeys) + 1);
  EXPECT_EQ(WireReader(many).texts(), std::nullopt);
}

}  // namespace
}  // namespace lockstep::store::detail
