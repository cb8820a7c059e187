#include "engine/store/detail/Wire.h"

#include <gmock/gmock.h>

namespace lockstep::store::detail {
namespace {

std::string listOf(const std::vector<std::string>& keys) {
  std::string bytes;
  base::ByteWriter writer(bytes);
  writer(keys);
  return bytes;
}

std::optional<std::vector<std::string>> keysIn(std::string_view bytes) {
  base::ByteReader reader(bytes);
  return takeKeys(reader);
}

TEST(Wire, PutsTheLengthBeforeAFrame) {
  EXPECT_EQ(framed("abc"), std::string("\3\0\0\0abc", 7));
}

TEST(Wire, ReadsBackAListOfKeys) {
  const std::vector<std::string> keys{"", "two"};
  EXPECT_EQ(keysIn(listOf(keys)), keys);
}

TEST(Wire, GivesNothingForAListCutShort) {
  const std::string bytes = listOf({"one", "two"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(keysIn(std::string_view(bytes).substr(0, size)), std::nullopt) << size;
  }
}

TEST(Wire, RefusesKeysBeyondTheirLimits) {
  EXPECT_EQ(keysIn(listOf({std::string(kLongestKey + 1, 'k')})), std::nullopt);
  EXPECT_EQ(keysIn(listOf(std::vector<std::string>(kMostKeys + 1))), std::nullopt);
}

}  // namespace
}  // namespace lockstep::store::detail
