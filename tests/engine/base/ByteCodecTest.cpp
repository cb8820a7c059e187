#include "engine/base/ByteCodec.h"

#include <gtest/gtest.h>

#include <limits>

namespace lockstep::base {

struct Inner {
  std::string name;
  std::vector<std::int32_t> numbers;
  bool operator==(const Inner&) const = default;
};

struct Outer {
  bool flag = false;
  std::optional<std::int32_t> number;
  std::vector<Inner> inner;
  std::map<std::string, std::string> map;
  double last = 0;
  bool operator==(const Outer&) const = default;
};

template <typename A, typename M>
requires std::is_same_v<std::remove_const_t<M>, Inner>
void fields(A& a, M& m) {
  a(m.name, m.numbers);
}
template <typename A, typename M>
requires std::is_same_v<std::remove_const_t<M>, Outer>
void fields(A& a, M& m) {
  a(m.flag, m.number, m.inner, m.map, m.last);
}

namespace {

template <typename T>
std::string written(const T& value) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer(value);
  return bytes;
}

const Outer kOuter{true, 7, {{"one", {1, -1}}, {"", {}}}, {{"key", "value"}}, 0.5};

TEST(ByteCodec, ReadsBackNumbersAndTexts) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.put<std::uint8_t>(255);
  writer.put<std::uint32_t>(0xfedcba98U);
  writer.put<std::int64_t>(std::numeric_limits<std::int64_t>::min());
  writer.text(std::string("\0x", 2));
  ByteReader reader(bytes);
  EXPECT_EQ(reader.take<std::uint8_t>(), 255);
  EXPECT_EQ(reader.take<std::uint32_t>(), 0xfedcba98U);
  EXPECT_EQ(reader.take<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(reader.text(2), std::string("\0x", 2));
  EXPECT_TRUE(reader.atEnd());
}

// What other versions of Lockstep read and write.
TEST(ByteCodec, WritesTheLowByteFirstAndLengthsBeforeTextsAndLists) {
  EXPECT_EQ(written(std::uint32_t{1}), std::string("\1\0\0\0", 4));
  EXPECT_EQ(written(std::string("ab")), std::string("\2\0\0\0ab", 6));
  EXPECT_EQ(written(std::vector<std::uint16_t>{1, 2}), std::string("\2\0\0\0\1\0\2\0", 8));
  EXPECT_EQ(written(std::vector<std::string>{"a", ""}),
            std::string("\2\0\0\0\1\0\0\0a\0\0\0\0", 13));
  EXPECT_EQ(written(std::optional<std::int16_t>()), std::string("\0\0\0", 3));
  EXPECT_EQ(written(std::optional<std::int16_t>(3)), std::string("\1\3\0", 3));
  EXPECT_EQ(written(std::map<std::string, std::string>{{"k", "v"}}),
            std::string("\1\0\0\0\1\0\0\0k\1\0\0\0v", 14));
  EXPECT_EQ(written(true), std::string("\1", 1));
}

TEST(ByteCodec, ReadsBackStructsByTheFieldsThatTheyName) {
  const std::string bytes = written(kOuter);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.take<Outer>(), kOuter);
  EXPECT_TRUE(reader.atEnd());
}

TEST(ByteCodec, GivesNothingForBytesCutShort) {
  const std::string bytes = written(kOuter);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ByteReader reader(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(reader.take<Outer>(), std::nullopt) << size;
    EXPECT_FALSE(reader.atEnd());
    EXPECT_EQ(reader.take<std::uint8_t>(), std::nullopt) << "after what was lacking";
  }
}

TEST(ByteCodec, SeesThatBytesAreLeftOver) {
  const std::string bytes = written(std::uint8_t{1}) + "x";
  ByteReader reader(bytes);
  EXPECT_EQ(reader.take<std::uint8_t>(), 1);
  EXPECT_FALSE(reader.atEnd());
}

TEST(ByteCodec, BelievesNoLength) {
  const std::string huge = written(std::uint32_t{0xffffffffU}) + "abc";
  EXPECT_EQ(ByteReader(huge).take<std::string>(), std::nullopt);
  EXPECT_EQ(ByteReader(huge).take<std::vector<std::int64_t>>(), std::nullopt);
  EXPECT_EQ(ByteReader(huge).take<std::vector<Inner>>(), std::nullopt);
  EXPECT_EQ(ByteReader(huge).bytes(100), std::nullopt);
}

TEST(ByteCodec, RefusesATextBeyondItsLimit) {
  const std::string bytes = written(std::string("four"));
  EXPECT_EQ(ByteReader(bytes).text(4), "four");
  EXPECT_EQ(ByteReader(bytes).text(3), std::nullopt);
}

}  // namespace
}  // namespace lockstep::base
