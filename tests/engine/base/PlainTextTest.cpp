#include "engine/base/PlainText.h"

#include <gtest/gtest.h>

namespace lockstep::base {
namespace {

TEST(PlainText, LeavesWordsLinesTabsAndOtherScriptsAsTheyAre) {
  const std::string text = "rank 1:\tübermaß · 学習\nsecond line";
  EXPECT_EQ(plainText(text), text);
}

TEST(PlainText, SpellsOutWhatWouldSteerATerminal) {
  EXPECT_EQ(plainText("\x1b[2J\x1b]0;mine\x07"), "\\x1b[2J\\x1b]0;mine\\x07");
  EXPECT_EQ(plainText("a\rb\x7f\b"), "a\\x0db\\x7f\\x08");
  EXPECT_EQ(plainText("\xc2\x9b" "31m"), "\\xc2\\x9b31m") << "the 8-bit form of ESC [";
}

TEST(PlainText, SpellsOutBytesThatAreNoUtf8) {
  EXPECT_EQ(plainText("\x9b" "0m"), "\\x9b0m");
  EXPECT_EQ(plainText("cut \xc3"), "cut \\xc3");
  EXPECT_EQ(plainText("\xe2\x82x"), "\\xe2\\x82x");
}

TEST(PlainText, SpellsOutAControlCharacterInMoreBytesThanItNeeds) {
  EXPECT_EQ(plainText("\xc0\x9b[2J"), "\\xc0\\x9b[2J") << "ESC in two bytes";
  EXPECT_EQ(plainText("\xe0\x80\x9b[2J"), "\\xe0\\x80\\x9b[2J");
  EXPECT_EQ(plainText("\xe0\x82\x9b"), "\\xe0\\x82\\x9b") << "ESC [ in three";
  EXPECT_EQ(plainText("\xf0\x80\x80\x9b"), "\\xf0\\x80\\x80\\x9b");
}

TEST(PlainText, SpellsOutWhatIsBeyondUnicode) {
  EXPECT_EQ(plainText("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half a pair of UTF-16";
  EXPECT_EQ(plainText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  for (const std::string edge : {"\xc2\xa0", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(plainText(edge), edge);
  }
}

}  // namespace
}  // namespace lockstep::base
