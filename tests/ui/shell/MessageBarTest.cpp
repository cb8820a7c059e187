#include "ui/shell/MessageBar.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

TEST(MessageBar, AnErrorStandsAboveWhatIsWell) {
  MessageBar bar;
  bar.show("build", MessageBar::Kind::kGood, "Everything is built: runs can be started");
  bar.show("end", MessageBar::Kind::kError, "Diverged: the replicas differ at step 60");
  EXPECT_EQ(bar.texts().front(), "Diverged: the replicas differ at step 60");
  bar.show("left", MessageBar::Kind::kInfo, "Imported; 3 files.");
  EXPECT_EQ(bar.texts().back(), "Imported; 3 files.");
}

}  // namespace
}  // namespace lockstep::ui
