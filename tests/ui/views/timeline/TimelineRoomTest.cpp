#include "ui/views/timeline/TimelineRoom.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "tests/ui/model/DemoRun.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;
using Options = TimelineLayout::Options;

// A run of two ranks with a counter, in step 45 of which one of them meets a fault.
class TimelineRoom : public testing::Test {
 protected:
  TimelineRoom() {
    trace::RunUpdate run = test::demoRun();
    const auto forward = std::ranges::find_if(run.spans, [](const trace::SpanRow& span) {
      return span.kind == EventKind::kForward && span.step == 45;
    });
    trace::SpanRow fault = *forward;
    fault.kind = EventKind::kFault;
    run.spans.push_back(fault);
    for (int rank = 0; rank < 2; ++rank) {
      run.metrics.push_back({0, rank, "resident_bytes", 0, test::kDemoOriginTicks, 1e8});
    }
    model_.applyUpdate(run);
  }
  TimeRange stepRange(std::uint32_t step) const {
    const auto of = model_.step(0, step);
    return {of->startNs, of->endNs};
  }
  // How many rows of faults a layout has, of both ranks.
  static std::ptrdiff_t faultRows(const TimelineLayout& layout) {
    std::ptrdiff_t rows = 0;
    for (const auto& rank : layout.ranks()) {
      rows += std::ranges::count(rank.lanes.front().rows, run::factsOf(EventKind::kFault).row,
                                 &TimelineLayout::Row::row);
    }
    return rows;
  }
  double heightOf(const Options& options) const {
    return TimelineLayout(model_, {}, options).height();
  }

  RunModel model_;
};

TEST_F(TimelineRoom, IsOfTheIterationsInSightAndSomeBesideThem) {
  const auto around = stepsAround(model_, stepRange(20));
  ASSERT_TRUE(around.has_value());
  EXPECT_EQ(around->startNs, stepRange(12).startNs);
  EXPECT_EQ(around->endNs, stepRange(28).endNs);
  const TimeRange step = stepRange(20);
  const TimeRange closer = TimeRange::about(step.middleNs(), step.lengthNs() / 50);
  EXPECT_EQ(stepsAround(model_, closer), around) << "rows do not vanish when one zooms in";
  EXPECT_FALSE(stepsAround(model_, {}).has_value());
}

TEST_F(TimelineRoom, IsGivenToRowsWithSomethingInThemThereAlone) {
  EXPECT_EQ(faultRows(TimelineLayout(model_, {}, {.within = stepsAround(model_, stepRange(20))})),
            0);
  EXPECT_EQ(faultRows(TimelineLayout(model_, {}, {.within = stepsAround(model_, stepRange(40))})),
            1);
}

TEST_F(TimelineRoom, BecomesLessUntilAllRanksAreInSight) {
  const Options usual{.counters = {"resident_bytes"}};
  Options options = usual;
  EXPECT_EQ(fittedLayout(model_, {}, options, 0).height(), heightOf(usual)) << "no limit";
  double height = heightOf(usual);
  for (const Density density :
       {Density::kStrips, Density::kSnug, Density::kDense, Density::kTight, Density::kThin}) {
    options = usual;
    const TimelineLayout fitted = fittedLayout(model_, {}, options, height - 1);
    EXPECT_EQ(options.density, density);
    EXPECT_LT(fitted.height(), height);
    height = fitted.height();
  }
  // A screen that is too low for any.
  options = usual;
  EXPECT_GT(fittedLayout(model_, {}, options, height - 1).height(), height);
  EXPECT_EQ(options.density, Density::kStrips);
}

// No step from one density to the next leaves much of the screen empty.
TEST_F(TimelineRoom, IsLeftEmptyByLessThanAFifth) {
  Options options{.counters = {"resident_bytes"}, .density = Density::kStrips};
  double height = heightOf(options);
  for (const Density density : {Density::kSnug, Density::kDense, Density::kTight, Density::kThin}) {
    options.density = density;
    const double denser = heightOf(options);
    EXPECT_GT(denser, height * 4 / 5) << "density " << static_cast<int>(density);
    height = denser;
  }
}

TEST_F(TimelineRoom, IsNotTakenFromRowsWhoseHeightSomebodyChose) {
  Options options{.scale = 1.15, .counters = {"resident_bytes"}};
  fittedLayout(model_, {}, options, 200);
  EXPECT_EQ(options.density, Density::kStrips);
}

TEST_F(TimelineRoom, StaysAsItIsWhereMoreWouldDo) {
  Options options{.counters = {"resident_bytes"}, .density = Density::kDense};
  fittedLayout(model_, {}, options, 10'000);
  EXPECT_EQ(options.density, Density::kDense);
}

}  // namespace
}  // namespace lockstep::ui
