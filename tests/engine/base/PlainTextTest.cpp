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

}  // namespace
}  // namespace lockstep::base
