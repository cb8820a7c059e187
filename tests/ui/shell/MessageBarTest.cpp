#include "ui/shell/MessageBar.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QPointer>
#include <QPushButton>

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

TEST(MessageBar, AButtonThatIsAboutToBePressedStaysWhileItsMessageGoesOn) {
  MessageBar bar;
  int cancelled = 0;
  bar.show("import", MessageBar::Kind::kInfo, "read 40 %", {{"Cancel", [&] { cancelled = 40; }}});
  const QPointer<QPushButton> button = bar.findChild<QPushButton*>();
  ASSERT_FALSE(button.isNull());
  bar.show("import", MessageBar::Kind::kInfo, "read 41 %", {{"Cancel", [&] { cancelled = 41; }}});
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  ASSERT_FALSE(button.isNull());
  EXPECT_EQ(bar.findChildren<QPushButton*>(), QList<QPushButton*>{button});
  EXPECT_EQ(bar.texts(), QStringList{"read 41 %"});
  button->click();
  EXPECT_EQ(cancelled, 41);

  bar.show("import", MessageBar::Kind::kInfo, "Cancelling");
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  EXPECT_TRUE(button.isNull()) << "what it did is not to be done any more";
  EXPECT_EQ(bar.texts(), QStringList{"Cancelling"});
}

}  // namespace
}  // namespace lockstep::ui
