#include "ui/help/HelpTopic.h"

#include <gtest/gtest.h>

#include "engine/glossary/Glossary.h"
#include "ui/help/GlossaryTopics.h"

namespace lockstep::ui {
namespace {

HelpTopic keys() {
  return {"Keys", "Runs", {}, {{"F5", "Run"}, {"Shift+F5", "Stop"}, {"Ctrl+R", "Record"}}};
}

TEST(HelpTopicTest, AnswersWhereEveryWordStandsSomewhereInIt) {
  EXPECT_TRUE(answers(keys(), ""));
  EXPECT_TRUE(answers(keys(), "runs stop"));
  EXPECT_TRUE(answers(keys(), "CTRL+r"));
  EXPECT_FALSE(answers(keys(), "runs coffee"));
}

TEST(HelpTopicTest, TheOneThatIsMeantScoresMost) {
  const HelpTopic exact{"G", "overlap", "Of time."};
  const HelpTopic other{"G", "exposed time", "Not overlap.", {}, "straggle, late"};
  EXPECT_GT(answerScore(exact, "Overlap"), answerScore(other, "Overlap"));
  EXPECT_GT(answerScore(other, "late"), answerScore(other, "not"));
  EXPECT_EQ(answerScore(other, "tea"), 0);
}

TEST(HelpTopicTest, OfManyLinesThoseThatHoldTheWordsAreShown) {
  const QString html = htmlOf(keys(), "stop");
  EXPECT_TRUE(html.contains("Shift+F5"));
  EXPECT_FALSE(html.contains("Ctrl+R"));
  EXPECT_TRUE(htmlOf(keys(), "runs").contains("Ctrl+R")) << "the title itself was meant";
}

TEST(HelpTopicTest, ASummaryIsNotSearched) {
  HelpTopic all = keys();
  all.isSummary = true;
  EXPECT_TRUE(answers(all, ""));
  EXPECT_FALSE(answers(all, "stop"));
}

TEST(HelpTopicTest, WordsAreNeverTakenForMarkup) {
  const HelpTopic topic{"G", "a < b", "c & d", {{"<x>", "<y>"}}};
  const QString html = htmlOf(topic, {});
  EXPECT_TRUE(html.contains("a &lt; b") && html.contains("c &amp; d") && html.contains("&lt;x&gt;"))
      << html.toStdString();
}

TEST(HelpTopicTest, EveryEntryOfTheGlossaryIsAPageInItsOwnWords) {
  const auto topics = glossaryTopics();
  ASSERT_EQ(topics.size(), glossary::entries().size());
  for (std::size_t i = 0; i < topics.size(); ++i) {
    const glossary::Entry& entry = glossary::entries()[i];
    EXPECT_EQ(topics[i].title.toStdString(), entry.term);
    EXPECT_EQ(topics[i].text.toStdString(), entry.meaning);
    ASSERT_EQ(topics[i].lines.size(), glossary::linesOf(entry).size());
    EXPECT_TRUE(topics[i].lines.back().links) << "what to see next is a link";
    for (const std::string_view other : entry.alsoCalled) {
      EXPECT_GE(answerScore(topics[i], QString::fromUtf8(other.data(), std::ssize(other))), 2)
          << entry.term << " is not found as " << other;
    }
  }
}

}  // namespace
}  // namespace lockstep::ui
