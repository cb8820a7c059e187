#include "engine/store/detail/KeyTable.h"

#include <gmock/gmock.h>

namespace lockstep::store::detail {
namespace {

TEST(KeyTable, TakesAnAbsentKeyForZero) {
  KeyTable table;
  EXPECT_EQ(table.sum("key", -7), -7);
  EXPECT_EQ(table.find("key"), nullptr) << "a sum alone writes nothing";
}

TEST(KeyTable, ListsMissingKeysInTheirOrder) {
  KeyTable table;
  table.set("b", "");
  EXPECT_THAT(table.missing({"c", "b", "a"}), testing::ElementsAre("c", "a"));
}

TEST(KeyTable, WritesOnlyWhatWasExpected) {
  KeyTable table;
  EXPECT_FALSE(table.compare("key", "old", "new").writes);
  EXPECT_TRUE(table.compare("key", "", "new").writes);
  table.set("key", "old");
  EXPECT_TRUE(table.compare("key", "old", "new").writes);
  EXPECT_FALSE(table.compare("key", "", "new").writes);
}

}  // namespace
}  // namespace lockstep::store::detail
