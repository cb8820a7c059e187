#include "ui/views/divergence/DivergenceRows.h"

#include <gtest/gtest.h>

#include <QColor>
#include <cmath>

#include "engine/trace/Event.h"
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

// Rank 1 in iterations 0 and 2; where all has come, rank 0, too, and both in iteration 1. In each a
// call, a loss, and gradients that were not finite, in bucket 0 and in none.
std::shared_ptr<const DivergenceFacts> factsOfALiveRun(bool all) {
  analysis::HandMadeRun run(2);
  for (std::uint32_t step = 0; step < 3; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      if (all || (rank == 1 && step != 1)) {
        run.addCollective(rank, 10 * step, 10 * step + 5, step, step);
        run.tables.losses.push_back({0, rank, "loss", step, 0, 1.0});
        for (const std::uint16_t bucket : {std::uint16_t{0}, trace::kNoBucket}) {
          trace::GradientRow gradients{0, rank, step, {}};
          gradients.gradients.bucket = bucket;
          gradients.gradients.nans = 1;
          run.tables.gradients.push_back(gradients);
        }
      }
    }
  }
  return test::factsOfRun(run.data(), false);
}

TEST(DivergenceRowsTest, RowsOfALiveRunAreFoundAgainWhenOthersCameBetweenThem) {
  const auto before = factsOfALiveRun(false);
  const auto after = factsOfALiveRun(true);
  EXPECT_EQ(sequenceRows(after, 0)->placeOf(*sequenceRows(before, 0), 1), 2u);
  EXPECT_EQ(stripRows(after)->placeOf(*stripRows(before), 1), 2u);
  // Two a rank and iteration.
  EXPECT_EQ(findingRows(after)->placeOf(*findingRows(before), 1), 3u);
  EXPECT_EQ(findingRows(after)->placeOf(*findingRows(before), 2), 10u);
}

}  // namespace
}  // namespace lockstep::ui
