#include "ui/table/WholeRows.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QHeaderView>
#include <QScrollBar>
#include <QSplitter>
#include <QTabWidget>
#include <memory>

#include "tests/ui/table/Numbers.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

using test::Numbers;

TEST(WholeRowsTest, TheLastRowInSightIsSeenWholeAtEverySize) {
  QWidget window;
  auto* splitter = new QSplitter(Qt::Vertical, &window);
  auto* above = new QWidget;
  auto* table = new TableView("numbers");
  table->setRows(std::make_shared<Numbers>(500));
  splitter->addWidget(above);
  splitter->addWidget(table);
  new WholeRows(splitter, {table}, 0.25);
  window.show();
  const int row = table->verticalHeader()->defaultSectionSize();
  for (const int height : {500, 613, 700, 1000}) {
    splitter->resize(600, height);
    EXPECT_EQ(table->viewport()->height() % row, 0) << height;
    EXPECT_GE(table->viewport()->height(), 2 * row) << height;
    EXPECT_NEAR(table->height(), height / 4, row + 10) << height;
  }
}

/// A number, and more columns than there is room for.
struct ManyColumns : Numbers {
  ManyColumns() : Numbers(500) {
    for (int i = 0; i < 20; ++i) {
      columns_.push_back(columns_.front());
    }
  }
};

// Its rows and columns come with a run, when the table has its height already.
TEST(WholeRowsTest, AScrollBarThatComesLaterCutsNoRow) {
  QWidget window;
  auto* splitter = new QSplitter(Qt::Vertical, &window);
  auto* table = new TableView("numbers");
  splitter->addWidget(new QWidget);
  splitter->addWidget(table);
  new WholeRows(splitter, {table}, 0.25);
  splitter->resize(600, 613);
  window.show();
  QApplication::processEvents();
  EXPECT_FALSE(table->horizontalScrollBar()->isVisible());
  table->setRows(std::make_shared<ManyColumns>());
  QApplication::processEvents();
  ASSERT_TRUE(table->horizontalScrollBar()->isVisible());
  EXPECT_EQ(table->viewport()->height() % table->verticalHeader()->defaultSectionSize(), 0);
}

TEST(WholeRowsTest, ATableInATabBelowThatIsTurnedToShowsWholeRowsToo) {
  QWidget window;
  auto* splitter = new QSplitter(Qt::Vertical, &window);
  auto* tabs = new QTabWidget;
  auto* narrow = new TableView("numbers");
  auto* wide = new TableView("many columns");
  narrow->setRows(std::make_shared<Numbers>(500));
  wide->setRows(std::make_shared<ManyColumns>());
  tabs->addTab(narrow, "numbers");
  tabs->addTab(wide, "many columns");
  splitter->addWidget(new QWidget);
  splitter->addWidget(tabs);
  new WholeRows(splitter, {narrow, wide}, 0.25);
  splitter->resize(600, 613);
  window.show();
  for (TableView* table : {narrow, wide, narrow}) {
    tabs->setCurrentWidget(table);
    QApplication::processEvents();
    EXPECT_EQ(table->viewport()->height() % table->verticalHeader()->defaultSectionSize(), 0)
        << table->accessibleName().toStdString();
  }
}

}  // namespace
}  // namespace lockstep::ui
