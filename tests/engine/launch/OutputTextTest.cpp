#include "engine/launch/OutputText.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace lockstep::launch {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> linesOf(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  const auto sink = [&](std::string_view line) { lines.emplace_back(line); };
  LineSplitter splitter;
  for (const auto& piece : pieces) {
    splitter.feed(piece, sink);
  }
  splitter.flush(sink);
  return lines;
}

TEST(LineSplitterTest, JoinsALineThatArrivesInPieces) {
  EXPECT_THAT(linesOf({"one\ntw", "o", "\nthree"}), ElementsAre("one", "two", "three"));
}

TEST(LineSplitterTest, KeepsEmptyLinesAndDropsCarriageReturns) {
  EXPECT_THAT(linesOf({"a\r\n\nb\n"}), ElementsAre("a", "", "b"));
}

TEST(LineSplitterTest, CutsALineThatNeverEnds) {
  const auto lines = linesOf({std::string(3 * LineSplitter::kMaxLineBytes + 1, 'x')});
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0].size(), LineSplitter::kMaxLineBytes);
  EXPECT_EQ(lines[3], "x");
}

TEST(LineSplitterTest, DoesNotCutACharacterInTwo) {
  // The two bytes of the last character lie on both sides of the limit.
  const std::string text = std::string(LineSplitter::kMaxLineBytes - 1, 'x') + "\u00e9y";
  EXPECT_THAT(linesOf({text}),
              ElementsAre(std::string(LineSplitter::kMaxLineBytes - 1, 'x'), "\u00e9y"));
}

TEST(LineSplitterTest, CutsBytesThatAreNoTextToo) {
  const auto lines = linesOf({std::string(LineSplitter::kMaxLineBytes + 5, '\x80')});
  EXPECT_THAT(lines, SizeIs(2));
}

TEST(OutputTailTest, KeepsAllOfAShortText) {
  OutputTail tail;
  tail.feed("first\n");
  tail.feed("second\n");
  EXPECT_EQ(tail.text(), "first\nsecond\n");
  EXPECT_EQ(tail.lastLine(), "second");
}

TEST(OutputTailTest, KeepsTheLastWholeLinesOfALongText) {
  OutputTail tail;
  for (int i = 0; i < 5000; ++i) {
    tail.feed("line " + std::to_string(i) + "\n");
  }
  EXPECT_LE(tail.text().size(), OutputTail::kMaxBytes);
  EXPECT_THAT(tail.text(), StartsWith("line "));
  EXPECT_THAT(tail.text(), EndsWith("line 4999\n"));
  EXPECT_EQ(tail.lastLine(), "line 4999");
}

TEST(OutputTailTest, HasNoLastLineInBlankText) {
  OutputTail tail;
  tail.feed(" \n\n");
  EXPECT_THAT(tail.lastLine(), IsEmpty());
}

TEST(OutputTailTest, FindsTheFirstLineThatHasALetter) {
  OutputTail tail;
  EXPECT_EQ(tail.firstWords(), "");
  tail.feed("\n-----------\n  mpirun has no slots.\r\n  More of it.\n-----------\n");
  EXPECT_EQ(tail.firstWords(), "mpirun has no slots.");
}

}  // namespace
}  // namespace lockstep::launch
