#pragma once

#include <gtest/gtest.h>

#include <QLabel>
#include <QPushButton>
#include <QStringList>
#include <QTest>

namespace lockstep::ui::test {

/// Whether the labels in sight say `text`, one after the other: what is empty has a heading and,
/// below it, the rest.
inline bool says(const QWidget& view, const char* text) {
  QStringList said;
  for (const QLabel* label : view.findChildren<QLabel*>()) {
    if (label->isVisible()) {
      said << label->text();
    }
  }
  return said.join(QLatin1Char(' ')).contains(QLatin1String(text));
}

/// Clicks the one button that is in sight; fails where there is none, or more than one.
inline void pressTheButtonOf(const QWidget& view) {
  QPushButton* shown = nullptr;
  for (QPushButton* button : view.findChildren<QPushButton*>()) {
    if (button->isVisible()) {
      ASSERT_EQ(shown, nullptr) << "more than one button is in sight";
      shown = button;
    }
  }
  ASSERT_NE(shown, nullptr) << "no button is in sight";
  QTest::mouseClick(shown, Qt::LeftButton);
}

}  // namespace lockstep::ui::test
