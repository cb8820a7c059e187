#include "ui/panels/KeyTips.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QToolButton>

namespace lockstep::ui {
namespace {

TEST(KeyTips, ATooltipNamesTheKeyThatTheUserHasGivenTheCommandSince) {
  QAction command(QStringLiteral("Find"));
  QToolButton button;
  setTip(&button, QStringLiteral("Find spans"), &command);
  EXPECT_EQ(button.toolTip(), "Find spans");
  command.setShortcut(QKeySequence("Ctrl+F"));
  EXPECT_EQ(button.toolTip(), "Find spans (Ctrl+F)");
  command.setShortcut(QKeySequence("/"));
  EXPECT_EQ(button.toolTip(), "Find spans (/)");
  command.setShortcut({});
  EXPECT_EQ(button.toolTip(), "Find spans");
}

TEST(KeyTips, ALaterTipTakesThePlaceOfTheOneBefore) {
  QAction play;
  play.setShortcut(Qt::Key_Space);
  QAction other;
  QToolButton button;
  setTip(&button, QStringLiteral("Play"), &play);
  setTip(&button, QStringLiteral("Pause"), &play);
  EXPECT_EQ(button.toolTip(), "Pause (Space)");
  setTip(&button, QStringLiteral("Other"), &other);
  play.setShortcut(Qt::Key_P);
  EXPECT_EQ(button.toolTip(), "Other") << "it is no longer about that";
}

TEST(KeyTips, TheTooltipOfACommandIsShownByItsButtons) {
  QAction command(QStringLiteral("Ribbons"));
  command.setShortcut(Qt::Key_G);
  setTip(&command, QStringLiteral("Join collectives"));
  QToolButton button;
  button.setDefaultAction(&command);
  EXPECT_EQ(button.toolTip(), "Join collectives (G)");
  command.setShortcut(Qt::Key_J);
  EXPECT_EQ(button.toolTip(), "Join collectives (J)");
}

TEST(KeyTips, OutliveTheCommand) {
  QToolButton button;
  {
    QAction command;
    command.setShortcut(Qt::Key_G);
    setTip(&button, QStringLiteral("Join"), &command);
  }
  setTip(&button, QStringLiteral("Nothing"), nullptr);
  EXPECT_EQ(button.toolTip(), "Nothing");
}

}  // namespace
}  // namespace lockstep::ui
