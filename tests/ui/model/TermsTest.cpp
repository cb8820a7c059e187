#include "ui/model/Terms.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

TEST(Terms, ATipSaysWhatTheTermOfItsHeadingMeansWithItsUnit) {
  const QString tip = tipWithTerm("Exposed ms", "Of <that>, this rank did not compute");
  EXPECT_TRUE(tip.startsWith("<p>Of &lt;that&gt;, this rank did not compute</p>"))
      << tip.toStdString();
  EXPECT_TRUE(tip.contains("<b>exposed time</b> [ms a step]: Communication was in flight"))
      << tip.toStdString();
}

TEST(Terms, ATipOfAnotherHeadingStaysAsItIs) {
  EXPECT_EQ(tipWithTerm("Tea", "Hot"), "Hot");
  EXPECT_EQ(tipWithTerm("Tea", {}), QString());
  EXPECT_EQ(termOf("Tea"), nullptr);
}

TEST(Terms, TheMeaningOfAHeadingIsThatOfItsTerm) {
  EXPECT_TRUE(meaningOf("much transfer").startsWith("slow link: What no order of the buckets"));
  EXPECT_EQ(meaningOf("Tea"), QString());
}

TEST(Terms, ATermWithoutATipOfItsOwnIsSaidAlone) {
  EXPECT_TRUE(tipWithTerm("bucket", {}).startsWith("<p><b>bucket</b>: Gradients of several"));
}

}  // namespace
}  // namespace lockstep::ui
