#include "engine/trace/Event.h"
#include "ui/views/timeline/TimelineLayout.h"

#include <gtest/gtest.h>

#include "tests/ui/model/Feed.h"
#include "ui/views/timeline/TimelineController.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr std::uint8_t kStartUpGroup = 7;

// Two ranks that meet in group 7 from 100 to 200 ns, before their first iteration, which is from
// 1000 to 2000 ns, and in group 0 from 1500 to 1800 ns.
class TimelineLayoutTest : public testing::Test {
 protected:
  TimelineLayoutTest() {
    test::Feed feed;
    for (int rank = 0; rank < 2; ++rank) {
      const int communication = 2 * rank + 2;
      feed.span(communication, EventKind::kCollective, 100, 200, 0, test::sequence(0),
                trace::packOperation(trace::Operation::kAllreduce, kStartUpGroup));
      feed.span(communication, EventKind::kCollective, 1500, 1800, 0, test::sequence(0),
                test::kAllreduce);
      feed.span(2 * rank + 1, EventKind::kStep, 1000, 2000);
    }
    model_.applyUpdate(feed.take());
  }
  static std::vector<int> groupsOf(const TimelineLayout& layout) {
    std::vector<int> groups;
    for (const auto& row : layout.world().rows) groups.push_back(row.group);
    return groups;
  }

  RunModel model_;
};

TEST_F(TimelineLayoutTest, GroupsOfStartUpHaveRowsOnlyWhereItIsShown) {
  EXPECT_EQ(groupsOf(TimelineLayout(model_, {})), (std::vector<int>{0, kStartUpGroup}));
  EXPECT_EQ(groupsOf(TimelineLayout(model_, {}, {.startUp = false})), std::vector<int>{0});
}

TEST_F(TimelineLayoutTest, APictureHasRowsForTheGroupsThatMeetInIt) {
  EXPECT_EQ(groupsOf(TimelineLayout(model_, {}, {.within = TimeRange{0, 900}})),
            std::vector<int>{kStartUpGroup});
  EXPECT_EQ(groupsOf(TimelineLayout(model_, {}, {.within = TimeRange{1000, 2000}})),
            std::vector<int>{0});
  EXPECT_TRUE(groupsOf(TimelineLayout(model_, {}, {.within = TimeRange{300, 900}})).empty());
}

TEST_F(TimelineLayoutTest, WorldIsAsHighAsWhatIsInIt) {
  test::Feed feed;
  std::uint32_t number = 0;
  // The second and the third are in flight together.
  for (const std::uint64_t start : {1000, 3000, 3010, 5000}) {
    ++number;
    for (int rank = 0; rank < 2; ++rank) {
      feed.span(2 * rank + 2, EventKind::kCollective, start, start + 100, 0, test::sequence(number),
                test::kAllreduce);
    }
  }
  RunModel model;
  model.applyUpdate(feed.take());
  const auto rowsIn = [&](const TimeRange& within) {
    return TimelineLayout(model, {}, {.within = within}).world().rows.size();
  };
  EXPECT_EQ(TimelineLayout(model, {}).world().rows.size(), 2u);
  EXPECT_EQ(rowsIn({900, 2000}), 1u);
  EXPECT_EQ(rowsIn({900, 3500}), 2u);
  EXPECT_EQ(rowsIn({4000, 6000}), 1u);
}

TEST_F(TimelineLayoutTest, TheirRowsComeWhenTheViewMovesToStartUpAndGoWithIt) {
  ViewState state;
  TimelineController controller;
  controller.setState(&state);
  controller.setModel(&model_);
  controller.setSize({800, 600});
  QObject::connect(&state, &ViewState::rangeChanged, [&] { controller.rangeChanged(); });
  state.setRange({1000, 2000});
  EXPECT_EQ(groupsOf(controller.layout()), std::vector<int>{0});
  state.setRange({0, 2000});
  EXPECT_EQ(groupsOf(controller.layout()), (std::vector<int>{0, kStartUpGroup}));
  state.setRange({1200, 1900});
  EXPECT_EQ(groupsOf(controller.layout()), std::vector<int>{0});
}

}  // namespace
}  // namespace lockstep::ui
