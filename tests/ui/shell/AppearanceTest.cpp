#include "ui/shell/Appearance.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFontMetrics>
#include <QLabel>
#include <QMenu>
#include <QScreen>
#include <QScrollBar>
#include <QStyle>
#include <QStyleOptionSlider>
#include <QTabBar>
#include <QToolButton>
#include <QToolTip>
#include <cmath>

#include "tests/ui/shell/Screen.h"
#include "ui/panels/Spacing.h"
#include "ui/panels/Unfolding.h"

namespace lockstep::ui {
namespace {

constexpr double kReadable = 4.5;  // WCAG AA, text
constexpr double kSeen = 3.0;      // WCAG AA, what is no text

class Dressed : public testing::TestWithParam<Theme> {
 protected:
  Dressed() {
    appearance_.setChoice(GetParam() == Theme::kDark ? ThemeChoice::kDark : ThemeChoice::kLight);
  }

  QImage imageOf(QWidget& widget) {
    widget.ensurePolished();
    QImage image(widget.size(), QImage::Format_RGB32);
    widget.render(&image);
    return image;
  }
  QColor colour(QPalette::ColorRole role) { return palette_.color(role); }

  Appearance appearance_;
  const QPalette palette_ = widgetPalette(GetParam());
};

TEST_P(Dressed, TextOfWidgetsReadsOnAllThatItStandsOn) {
  using Role = QPalette::ColorRole;
  const std::vector<std::pair<Role, std::vector<Role>>> pairs{
      {QPalette::WindowText, {QPalette::Window, QPalette::Base, QPalette::Button}},
      {QPalette::Text, {QPalette::Base, QPalette::AlternateBase, QPalette::Highlight}},
      {QPalette::ButtonText, {QPalette::Button, QPalette::Window}},
      {QPalette::HighlightedText, {QPalette::Highlight}},
      {QPalette::ToolTipText, {QPalette::ToolTipBase}},
      {QPalette::PlaceholderText,
       {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button,
        QPalette::Highlight}},
      {QPalette::Link,
       {QPalette::Window, QPalette::Base, QPalette::Button, QPalette::Highlight,
        QPalette::ToolTipBase}},
      {QPalette::BrightText, {QPalette::Window, QPalette::Base}},
  };
  for (const auto& [ink, grounds] : pairs) {
    for (const Role ground : grounds) {
      EXPECT_GE(contrastRatio(colour(ink), colour(ground)), kReadable)
          << "role " << ink << " " << colour(ink).name().toStdString() << " on role " << ground
          << " " << colour(ground).name().toStdString();
    }
  }
}

TEST_P(Dressed, ThereIsOneAccentAndItIsThatOfThePalette) {
  const Palette& colours = Palette::of(GetParam());
  EXPECT_EQ(colour(QPalette::Link), colours.action);
  EXPECT_EQ(colour(QPalette::LinkVisited), colours.action);
  EXPECT_EQ(colour(QPalette::Highlight), colours.chosen);
}

TEST_P(Dressed, TheTabInFrontHasALineThatIsSeen) {
  QTabBar tabs;
  tabs.setDocumentMode(true);
  tabs.setDrawBase(false);
  for (const char* title : {"Live", "Timeline", "Buckets"}) {
    tabs.addTab(QLatin1String(title));
  }
  tabs.setCurrentIndex(1);
  tabs.resize(tabs.sizeHint());
  const QImage image = imageOf(tabs);
  const auto edge = [&](int tab) {
    const QRect rect = tabs.tabRect(tab);
    return image.pixelColor(rect.center().x(), rect.bottom());
  };
  EXPECT_EQ(edge(1), colour(QPalette::Link));
  EXPECT_NE(edge(0), edge(1));
  EXPECT_EQ(edge(0), edge(2));
  EXPECT_GE(contrastRatio(edge(1), colour(QPalette::Window)), kSeen);
  EXPECT_GE(contrastRatio(edge(1), colour(QPalette::Base)), kSeen);
}

TEST_P(Dressed, TipsOfPlainWordsBreakIntoLines) {
  const QString sentence =
      "Overlap is the time in which communication was in flight and the rank computed, over the "
      "time in which communication was in flight, the median over iterations. ";
  const auto label = []() -> QLabel* {
    for (QWidget* window : QApplication::topLevelWidgets()) {
      if (window->inherits("QTipLabel") && window->isVisible()) {
        return qobject_cast<QLabel*>(window);
      }
    }
    return nullptr;
  };
  const QPoint at = QGuiApplication::primaryScreen()->geometry().center();
  for (const QString& words : {sentence, sentence + sentence}) {  // in the same label
    QToolTip::showText(at, words);
    ASSERT_TRUE(tests::waitUntil([&] { return label() != nullptr && label()->text() == words; }));
    const QFontMetrics metrics = label()->fontMetrics();
    EXPECT_TRUE(tests::waitUntil([&] {
      return label()->width() < 90 * metrics.averageCharWidth();
    })) << label()->width();
    EXPECT_GT(label()->height(), 2 * metrics.lineSpacing());
    EXPECT_GE(label()->height(), label()->heightForWidth(label()->width())) << "it is seen whole";
  }
  QToolTip::hideText();
}

TEST_P(Dressed, TheMarkOfAMenuStandsApartFromTheLastLetter) {
  QMenu menu;
  QToolButton plain;
  QToolButton button;
  for (QToolButton* one : {&plain, &button}) {
    one->setText(QStringLiteral("Counters"));
    one->setAutoRaise(true);
  }
  button.setMenu(&menu);
  button.setPopupMode(QToolButton::InstantPopup);
  EXPECT_EQ(button.sizeHint().width(), plain.sizeHint().width() + kTwoSpaces);
  button.resize(button.sizeHint());
  const QImage image = imageOf(button);
  const auto isEmpty = [&](int x) {
    for (int y = 0; y < image.height(); ++y) {
      if (image.pixelColor(x, y) != image.pixelColor(0, 0)) {
        return false;
      }
    }
    return true;
  };
  int x = image.width() - 1;
  while (x > 0 && isEmpty(x)) {
    --x;
  }
  while (x > 0 && !isEmpty(x)) {
    --x;
  }
  const int markBegins = x;
  while (x > 0 && isEmpty(x)) {
    --x;
  }
  EXPECT_GT(x, 0) << "there are letters before the mark";
  EXPECT_GE(markBegins - x, kHalfSpace);
}

TEST_P(Dressed, WhatIsChosenDiffersFromItsList) {
  EXPECT_GE(contrastRatio(colour(QPalette::Highlight), colour(QPalette::Base)), 1.2);
}

INSTANTIATE_TEST_SUITE_P(Themes, Dressed, testing::Values(Theme::kLight, Theme::kDark));

TEST(Appearance, KeepsTheRhythmOfTheWindow) {
  const Appearance appearance;
  for (const auto metric : {QStyle::PM_LayoutHorizontalSpacing, QStyle::PM_LayoutVerticalSpacing,
                            QStyle::PM_LayoutLeftMargin}) {
    EXPECT_EQ(QApplication::style()->pixelMetric(metric), kSpace);
  }
}

TEST(Appearance, MovesNothingUntilItIsToldTo) {
  const auto duration = [] {
    return QApplication::style()->styleHint(QStyle::SH_Widget_Animation_Duration);
  };
  Appearance appearance;
  EXPECT_EQ(duration(), 0);
  appearance.moveAsDesktopDoes();
  EXPECT_EQ(duration(), 150);
}

TEST(Appearance, WhatOpensUnfoldsInThatTimeOrIsThereAtOnce) {
  Appearance appearance;
  QWidget still;
  unfold(&still);
  EXPECT_EQ(still.maximumHeight(), QWIDGETSIZE_MAX);
  appearance.moveAsDesktopDoes();
  QLabel card(QStringLiteral("a message"));
  card.show();
  unfold(&card);
  EXPECT_EQ(card.maximumHeight(), 0);
  EXPECT_TRUE(tests::waitUntil([&] { return card.maximumHeight() == QWIDGETSIZE_MAX; }));
}

TEST(Appearance, AScrollBarIsAllGrooveAndItsHandleReachesBothEnds) {
  const Appearance appearance;
  QScrollBar bar(Qt::Vertical);
  bar.setRange(0, 1000);
  bar.setPageStep(100);
  bar.resize(bar.sizeHint().width(), 400);
  const auto rect = [&](QStyle::SubControl part) {
    QStyleOptionSlider option;
    option.initFrom(&bar);
    option.orientation = bar.orientation();
    option.minimum = bar.minimum();
    option.maximum = bar.maximum();
    option.pageStep = bar.pageStep();
    option.sliderPosition = bar.value();
    option.subControls = QStyle::SC_All;
    return bar.style()->subControlRect(QStyle::CC_ScrollBar, &option, part, &bar);
  };
  EXPECT_EQ(rect(QStyle::SC_ScrollBarGroove), bar.rect());
  EXPECT_EQ(rect(QStyle::SC_ScrollBarSlider).top(), 0);
  bar.setValue(500);
  const QRect middle = rect(QStyle::SC_ScrollBarSlider);
  EXPECT_NEAR(middle.center().y(), 200, 2);
  EXPECT_EQ(rect(QStyle::SC_ScrollBarSubPage).bottom() + 1, middle.top());
  EXPECT_EQ(rect(QStyle::SC_ScrollBarAddPage).top(), middle.bottom() + 1);
  bar.setValue(1000);
  EXPECT_EQ(rect(QStyle::SC_ScrollBarSlider).bottom(), bar.rect().bottom());
}

}  // namespace
}  // namespace lockstep::ui
