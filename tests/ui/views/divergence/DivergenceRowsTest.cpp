#include "ui/views/divergence/DivergenceRows.h"

#include <gtest/gtest.h>

#include <QColor>

#include "tests/ui/views/divergence/DivergentRun.h"
#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

TEST(DivergenceRowsTest, SaysOfAParameterSinceWhenAndWhere) {
  const auto rows = parameterRows(test::factsOfRun(test::replicas(4, 2, 2, 1)));
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->text(0, 3), "0");
  EXPECT_EQ(rows->text(0, 4), "none");
  EXPECT_EQ(rows->text(1, 2), "4");
  EXPECT_EQ(rows->text(1, 3), "1");
  EXPECT_EQ(rows->text(1, 4), "20");
  EXPECT_EQ(rows->text(1, 5), "rank 1");
  EXPECT_EQ(rows->text(1, 6), "50.0");
  EXPECT_EQ(rows->look(1, 0, Qt::ForegroundRole).value<QColor>(), currentPalette().warning);
  EXPECT_FALSE(rows->look(0, 0, Qt::ForegroundRole).isValid());
}

}  // namespace
}  // namespace lockstep::ui
