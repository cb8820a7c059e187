#include "ui/table/WholeRows.h"

#include <gtest/gtest.h>

#include <QHeaderView>
#include <QSplitter>
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
  new WholeRows(splitter, table, 0.25);
  window.show();
  const int row = table->verticalHeader()->defaultSectionSize();
  for (const int height : {500, 613, 700, 1000}) {
    splitter->resize(600, height);
    EXPECT_EQ(table->viewport()->height() % row, 0) << height;
    EXPECT_GE(table->viewport()->height(), 2 * row) << height;
    EXPECT_NEAR(table->height(), height / 4, row + 10) << height;
  }
}

}  // namespace
}  // namespace lockstep::ui
