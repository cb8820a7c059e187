#include "ui/panels/findings/FindingWords.h"

#include <gtest/gtest.h>

#include "engine/diagnosis/Rule.h"
#include "tests/ui/panels/findings/SampleFindings.h"
#include "ui/model/Terms.h"

namespace lockstep::ui {
namespace {

using diagnosis::Diagnosis;
using test::twoFindings;

TEST(FindingWords, TheHeadlineIsTheFirstFindingInEverFewerWords) {
  const FindingsHeadline headline = headlineOf(twoFindings().get());
  EXPECT_EQ(headline.tone, FindingTone::kCost);
  EXPECT_EQ(headline.texts, (QStringList{"Rank 2 is late: 20.40 ms a step (19.80 to 20.90)",
                                         "Rank 2 is late: 20.40 ms a step", "Rank 2 is late"}));
  EXPECT_EQ(headline.more, 1U);
}

TEST(FindingWords, EveryRuleIsAboutATermOfTheGlossary) {
  for (const diagnosis::Rule& rule : diagnosis::rules()) {
    diagnosis::Finding finding;
    finding.rule = rule.name;
    EXPECT_NE(termOf(termOf(finding)), nullptr) << rule.name;
  }
  EXPECT_EQ(termOf(twoFindings()->findings.front()), "late rank");
}

TEST(FindingWords, OfARunThatGoesOnTheySaySo) {
  Diagnosis found = *twoFindings();
  found.soFar = true;
  EXPECT_EQ(headlineOf(&found).texts.back(), "So far: Rank 2 is late");
  EXPECT_EQ(summaryOf(found),
            "2 findings in 40 measured steps of 28.10 ms so far: the run goes on");
}

TEST(FindingWords, NothingFoundIsGoodWhereTheRunCanTellAndElseUnknown) {
  Diagnosis found;
  found.nothing = "Nothing stands out in 40 measured steps of 28.10 ms.";
  found.measuredSteps = 40;
  found.stepMs = 28.1;
  EXPECT_EQ(headlineOf(&found).tone, FindingTone::kGood);
  EXPECT_EQ(headlineOf(&found).texts,
            (QStringList{"Nothing stands out in 40 measured steps of 28.10 ms.",
                         "Nothing stands out"}));
  EXPECT_EQ(summaryOf(found), "No finding in 40 measured steps of 28.10 ms");
  found.muchExposed = true;
  EXPECT_EQ(headlineOf(&found).tone, FindingTone::kNote) << "nobody is to blame: no praise either";
  EXPECT_EQ(headlineOf(&found).texts.back(), "No cause stands out");
  found.muchExposed = false;
  found.canTell = false;
  found.nothing = "This run cannot tell, because it is short.";
  EXPECT_EQ(headlineOf(&found).tone, FindingTone::kUnknown);
  EXPECT_EQ(headlineOf(&found).texts.back(), "This run cannot tell");
  found.measuredSteps = 0;
  EXPECT_EQ(summaryOf(found), "No finding; no step is measured");
  EXPECT_EQ(headlineOf(nullptr).texts.front(), "Looking at the run…");
}

TEST(FindingWords, AFindingSaysWhatItCostsAndWhereItIs) {
  const auto found = twoFindings();
  const diagnosis::Finding& late = found->findings.front();
  EXPECT_EQ(savingOf(late), "20.40 ms a step");
  EXPECT_EQ(intervalOf(late, found->stepMs), "19.80 to 20.90 ms, 73 % of a step");
  EXPECT_EQ(placeOf(late.place), "rank 2, step 20, bucket 3, layers.12.weight, backward");
  const diagnosis::Finding& buckets = found->findings.back();
  EXPECT_EQ(savingOf(buckets), "at most 3.00 ms a step");
  EXPECT_EQ(placeOf(buckets.place), "");
  EXPECT_EQ(settingOf(buckets.settings.front()), "ddp.bucket_cap_mb = 25");
}

}  // namespace
}  // namespace lockstep::ui
