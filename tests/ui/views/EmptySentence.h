#pragma once

#include <gtest/gtest.h>

#include <QLabel>
#include <QPushButton>
#include <QTest>

namespace lockstep::ui::test {

/// Whether a label in sight begins with `text`.
inline bool says(const QWidget& view, const char* text) {
  for (const QLabel* label : view.findChildren<QLabel*>()) {
    if (label->isVisible() && label->text().startsWith(QLatin1String(text))) {
      return true;
    }
  }
  return false;
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
