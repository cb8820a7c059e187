#include "ui/help/TermUnder.h"

#include <gtest/gtest.h>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QStandardItemModel>
#include <QTabBar>
#include <QTableView>

#include "ui/canvas/Canvas.h"
#include "ui/panels/TermTips.h"

namespace lockstep::ui {
namespace {

QString termAtMiddle(QWidget* widget) {
  return termIn(widget, widget->mapToGlobal(widget->rect().center()));
}

TEST(TermUnderTest, AWidgetSaysWhichTermItShows) {
  QLabel label("20.40 ms a step");
  setTerm(&label, "saving", "What it would save");
  EXPECT_EQ(termAtMiddle(&label), "saving");
  EXPECT_TRUE(label.toolTip().contains("What it would save"));
  EXPECT_TRUE(label.toolTip().contains("<b>saving</b>"));
}

TEST(TermUnderTest, AWidgetThatNamesNoEntryIsABugOfOurs) {
  QLabel label;
  EXPECT_DEATH(setTerm(&label, "tea"), "the glossary has no \"tea\"");
}

TEST(TermUnderTest, TheWordsOfALabelMayBeATermAndElseItsParentIsAsked) {
  QWidget parent;
  auto* row = new QHBoxLayout(&parent);
  auto* term = new QLabel("Overlap");
  auto* none = new QLabel("28.1 ms");
  row->addWidget(term);
  row->addWidget(none);
  EXPECT_EQ(termAtMiddle(term), "overlap");
  EXPECT_EQ(termAtMiddle(none), QString());
  setTerm(&parent, "step");
  EXPECT_EQ(termAtMiddle(none), "step");
  EXPECT_EQ(termIn(nullptr, {}), QString());
}

TEST(TermUnderTest, OfATableItIsTheCellOrTheTitleOfItsColumn) {
  QStandardItemModel model(1, 2);
  model.setHorizontalHeaderLabels({"Name", "Exposed ms"});
  model.setItem(0, 0, new QStandardItem("wire bytes a step"));
  model.setItem(0, 1, new QStandardItem("1.20"));
  QTableView table;
  table.setModel(&model);
  table.resize(400, 200);
  table.show();
  QHeaderView* header = table.horizontalHeader();
  const int x = header->sectionViewportPosition(1) + 5;
  QWidget* titles = header->viewport();
  EXPECT_EQ(termIn(titles, titles->mapToGlobal(QPoint(x, 5))), "exposed time");
  EXPECT_EQ(termIn(titles, titles->mapToGlobal(QPoint(5, 5))), QString());
  QWidget* cells = table.viewport();
  EXPECT_EQ(termIn(cells, cells->mapToGlobal(QPoint(x, 5))), "exposed time");
  EXPECT_EQ(termIn(cells, cells->mapToGlobal(QPoint(5, 5))), "wire bytes");
}

TEST(TermUnderTest, OfTabsItIsTheTabAtThePoint) {
  QTabBar tabs;
  tabs.addTab("Overlap");
  tabs.addTab("Setup");
  tabs.resize(tabs.sizeHint());
  tabs.show();
  EXPECT_EQ(termIn(&tabs, tabs.mapToGlobal(tabs.tabRect(0).center())), "overlap");
  EXPECT_EQ(termIn(&tabs, tabs.mapToGlobal(tabs.tabRect(1).center())), QString());
}

class Halves : public CanvasClient {
 public:
  void paintCanvas(DisplayList&, QSizeF) override {}
  [[nodiscard]] QString headingAt(QPointF at) const override {
    return at.x() < 100 ? "Late rank" : "nothing of the sort";
  }
};

TEST(TermUnderTest, OfACanvasItIsWhatIsDrawnThere) {
  Halves halves;
  QWidget window;
  Canvas canvas(&halves, &window, {Renderer::kRaster, {}});
  window.resize(200, 100);
  canvas.resize(200, 100);
  window.show();
  QWidget* surface = canvas.childAt(50, 50);
  ASSERT_NE(surface, nullptr);
  EXPECT_EQ(termIn(surface, canvas.mapToGlobal(QPoint(50, 50))), "late rank");
  EXPECT_EQ(termIn(surface, canvas.mapToGlobal(QPoint(150, 50))), QString());
}

}  // namespace
}  // namespace lockstep::ui
