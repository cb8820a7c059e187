#include <gtest/gtest.h>

#include <QLabel>
#include <utility>
#include <vector>

#include "engine/glossary/Glossary.h"
#include "tests/ui/panels/findings/SampleFindings.h"
#include "tests/ui/shell/Screen.h"
#include "ui/model/Terms.h"
#include "ui/panels/TermTips.h"
#include "ui/panels/findings/VerdictCard.h"
#include "ui/panels/findings/VerdictWords.h"

namespace lockstep::ui {
namespace {

using diagnosis::Topic;
using test::twoFindings;
using tests::waitUntil;

/// Two findings, and all that is said of a run of many ranks.
std::shared_ptr<diagnosis::Diagnosis> judged() {
  auto found = std::make_shared<diagnosis::Diagnosis>(*twoFindings());
  found->verdict = {
      {Topic::kReplicas, "replicas equal in 20 samples", "replicas equal", {}},
      {Topic::kCost,
       "bucket 5 costs rank 0 7.20 ms a step (mean), because more is sent than the backward "
       "can hide",
       "bucket 5 costs rank 0 7.20 ms a step (mean)",
       {}},
      {Topic::kLate,
       "rank 700 is late in 12,183 of 12,270 steps, and 312 more ranks are late, too",
       "rank 700 is late in 12,183 of 12,270 steps",
       {}},
      {Topic::kOverlap,
       "overlap 61.0 % on rank 1023, 3.80 ms exposed a step (medians)",
       "overlap 61.0 %",
       {}},
      {Topic::kSlowest,
       "step 12,213 was the slowest, 141 ms: rank 1022 waited 20.1 ms longer than "
       "usual for rank 700",
       "step 12,213 was the slowest, 141 ms: rank 1022 waited 20.1 ms longer for "
       "rank 700",
       {},
       "step 12,213 was the slowest, 141 ms"}};
  return found;
}

VerdictWords wordsOf(const diagnosis::Diagnosis* found, const trace::RunInfo& info = {}) {
  return verdictWords(info, "demo", "mlp, 1024 ranks, hierarchical, hook powersgd", 12'270, found);
}

TEST(VerdictWords, TheFirstFindingGoesFirstAndThenWhatTheRunIsAndHowItDid) {
  const auto found = judged();
  const VerdictWords words = wordsOf(found.get());
  EXPECT_EQ(words.tone, FindingTone::kCost);
  EXPECT_EQ(words.headline.text, "Rank 2 is late: 20.40 ms a step (19.80 to 20.90)");
  EXPECT_EQ(words.headline.link, "finding0");
  EXPECT_EQ(words.headline.tip, QString::fromStdString(found->findings.front().sentence));
  EXPECT_EQ(words.more, 1U);
  EXPECT_EQ(words.subject,
            "demo · mlp, 1024 ranks, hierarchical, hook powersgd · 12,270 iterations");
  ASSERT_EQ(words.parts.size(), 5U);
  EXPECT_EQ(words.parts[0].text, "Replicas equal in 20 samples");
  EXPECT_TRUE(richTextOf(words, 5).contains("and 1 more finding<"));
}

TEST(VerdictWords, EachPartSaysWhereItLeadsAndWhatTheGlossaryHasOnIt) {
  const VerdictWords words = wordsOf(judged().get());
  const std::vector<std::pair<QString, QString>> tips{
      {"fingerprint", "Shows when which parameter was first another one"},
      {"cost", "Shows where it was largest"},
      {"late rank", "Shows the iteration in which the others waited longest for it"},
      {"overlap", "Shows why the rest is exposed"},
      {"slowest step", "Shows it on the timeline"}};
  ASSERT_EQ(words.parts.size(), tips.size());
  for (std::size_t i = 0; i < tips.size(); ++i) {
    EXPECT_EQ(words.parts[i].term, tips[i].first);
    EXPECT_EQ(words.parts[i].tip, tips[i].second);
    ASSERT_NE(glossary::find(words.parts[i].term.toStdString()), nullptr);
  }
}

TEST(VerdictCard, SaysUnderThePointerWhatTheGlossarySaysAndHelpOpensThere) {
  VerdictCard card;
  card.setWords(wordsOf(judged().get()));
  emit card.label()->linkHovered("1");
  EXPECT_EQ(shownTerm(card.label()), "cost");
  EXPECT_EQ(
      card.label()->toolTip(),
      tipWithTerm("cost",
                  "Bucket 5 costs rank 0 7.20 ms a step (mean), because more is sent than the "
                  "backward can hide. Shows where it was largest"));
  emit card.label()->linkHovered("finding0");
  EXPECT_EQ(shownTerm(card.label()), "");
  EXPECT_EQ(card.label()->toolTip(), card.words().headline.tip);
  emit card.label()->linkHovered("");
  EXPECT_TRUE(card.label()->toolTip().isEmpty());
}

TEST(VerdictWords, ARunThatEndedBadlySaysThatFirst) {
  trace::RunInfo info;
  info.state = trace::RunState::kFailed;
  EXPECT_EQ(wordsOf(nullptr, info).headline.text, "The run failed and gave no reason");
  info.failure = "rank 1 was ended by SIGKILL";
  VerdictWords words = wordsOf(nullptr, info);
  EXPECT_EQ(words.tone, FindingTone::kWrong);
  EXPECT_EQ(words.headline.text, "Failed: rank 1 was ended by SIGKILL");
  EXPECT_EQ(words.headline.link, kProblemsLink);
  EXPECT_EQ(words.headline.tip, "Shows the list of problems");
  auto found = judged();
  found->findings.front().weight = diagnosis::Weight::kWrong;
  words = wordsOf(found.get(), info);
  EXPECT_EQ(words.headline.link, "finding0");
  EXPECT_EQ(words.headline.tip, "Shows where it happened");
  info = {};
  info.state = trace::RunState::kDiverged;
  info.divergence.emplace();
  info.divergence->text = "the replicas differ at step 60";
  EXPECT_EQ(wordsOf(nullptr, info).headline.text, "Diverged: the replicas differ at step 60");
  EXPECT_EQ(wordsOf(judged().get(), info).parts.front().link, "1") << "it is not said twice";
  found->findings.back().rule = "replicas_differ";
  EXPECT_EQ(wordsOf(found.get(), info).headline.link, "finding1");
  EXPECT_EQ(headlineOf(info, found.get()).texts,
            QStringList{"Diverged: the replicas differ at step 60"});
  EXPECT_EQ(headlineOf(info, found.get()).more, 1U);
  info.failure = "the replicas differ at step 60; rank 1 threw in step 70";
  EXPECT_EQ(wordsOf(nullptr, info).headline.text,
            "Diverged: the replicas differ at step 60; rank 1 threw in step 70");
  info = {};
  info.state = trace::RunState::kRecorderDied;
  EXPECT_EQ(wordsOf(nullptr, info).headline.text,
            "The recorder died: how the run ended is not known");
}

TEST(VerdictWords, OfALiveRunTheySayHowFarItIs) {
  trace::RunInfo info;
  info.plannedSteps = 20'000;
  EXPECT_TRUE(wordsOf(nullptr, info).subject.endsWith("12,270 of 20,000 iterations"));
  EXPECT_EQ(wordsOf(nullptr, info).headline.text, "Looking at the run…");
}

TEST(VerdictCard, TakesThreeLinesAtMostAndSaysTheLastPartsInBriefForThat) {
  VerdictCard card;
  card.setWords(wordsOf(judged().get()));
  const auto lines = [&] {
    return static_cast<double>(card.label()->height()) / card.label()->fontMetrics().lineSpacing();
  };
  card.resize(2200, 100);
  card.show();
  ASSERT_TRUE(waitUntil([&] { return card.isVisible() && card.label()->width() > 2000; }));
  EXPECT_TRUE(card.label()->text().contains("for rank 700"));
  EXPECT_LT(lines(), 3.5);
  card.resize(1250, 100);
  ASSERT_TRUE(waitUntil([&] { return card.label()->width() < 1250; }));
  EXPECT_LT(lines(), 3.5);
  EXPECT_TRUE(card.label()->text().contains("because more is sent"));
  EXPECT_TRUE(card.label()->text().contains("waited 20.1 ms longer for rank 700"));
  EXPECT_TRUE(card.accessibleName().contains("longer than usual for rank 700"));
  card.resize(1100, 100);  // what a laptop of 1440 px leaves beside the list of runs
  ASSERT_TRUE(waitUntil([&] { return card.label()->width() < 1100; }));
  EXPECT_LT(lines(), 3.5);
  EXPECT_TRUE(card.label()->text().contains("waited 20.1 ms longer for rank 700"))
      << "why the slowest step was is said";
  card.resize(700, 100);
  ASSERT_TRUE(waitUntil([&] { return card.label()->width() < 700; }));
  EXPECT_FALSE(card.label()->text().contains("because more is sent"));
  EXPECT_FALSE(card.label()->text().contains("for rank 700")) << "there is no room for it";
  EXPECT_EQ(card.minimumSizeHint().width() <= 60, true) << "it never widens the window";
}

}  // namespace
}  // namespace lockstep::ui
