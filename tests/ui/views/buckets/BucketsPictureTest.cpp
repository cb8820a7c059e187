#include "ui/views/buckets/BucketsPicture.h"

#include <gtest/gtest.h>

#include <QRegularExpression>
#include <algorithm>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/buckets/BucketRun.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

bool holds(const Picture& picture, const QString& text) {
  const auto& texts = picture.list.texts();
  return std::any_of(texts.begin(), texts.end(),
                     [&](const QString& one) { return one.contains(text); });
}

TEST(BucketsPicture, ShowsTheIterationAskedFor) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  const Picture first = bucketsPicture(model, {1200, 700}, Theme::kLight, 0);
  EXPECT_EQ(first.size, QSizeF(1200, 700));
  EXPECT_TRUE(holds(first, QStringLiteral("buckets of iteration 0")));
  EXPECT_TRUE(holds(first, QStringLiteral("as constructed")));
  const Picture typical = bucketsPicture(model, {1200, 0}, Theme::kDark);
  EXPECT_TRUE(holds(typical, QStringLiteral("rebuilt from the ready order")));
  EXPECT_GT(typical.size.height(), 300);
  EXPECT_FALSE(renderPicture(typical).isNull());
}

TEST(BucketsPicture, SaysWhatTheBarsMeanAlsoWhereItIsNarrow) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  for (const int width : {1000, 1400}) {
    const Picture picture = bucketsPicture(model, {width, 700}, Theme::kLight);
    for (const char* bar : {"fills", "stalled", "queued", "waiting", "transfer", "exposed", "copy out"}) {
      EXPECT_TRUE(holds(picture, bar)) << bar << " at " << width;
    }
  }
}

TEST(BucketsPicture, SaysTheUnitOfItsTimesAtAnyWidth) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  const QRegularExpression withUnit(QStringLiteral("^[0-9.]+ ms$"));
  for (const int width : {760, 900, 1000, 1400, 2000}) {
    const Picture picture = bucketsPicture(model, {width, 700}, Theme::kLight);
    const bool inTheTitle =
        holds(picture, ": ms since its start") || holds(picture, QStringLiteral(", ms"));
    EXPECT_NE(inTheTitle, std::ranges::any_of(picture.list.texts(), [&](const QString& text) {
                return withUnit.match(text).hasMatch();
              }))
        << width;
  }
}

TEST(BucketsPicture, OfManyRanksIsAsHighAsOfAFewAndSaysWhichItShows) {
  RunModel many;
  many.applyUpdate(test::demoRun({.ranks = 40, .steps = 4}));
  const Picture examples = bucketsPicture(many, {1600, 0}, Theme::kLight, 2);
  EXPECT_LT(examples.size.height(), 800);
  EXPECT_TRUE(holds(examples, QStringLiteral("first, middle and last of 40 ranks")));
  const Picture chosen = bucketsPicture(many, {1600, 0}, Theme::kLight, 2, {7, 30});
  EXPECT_TRUE(holds(chosen, QStringLiteral("2 of 40 ranks")));
  EXPECT_TRUE(holds(chosen, QStringLiteral("rank 30")));
}

TEST(BucketsPicture, SaysWhichRanksItShowsAlsoWhereItIsNarrow) {
  RunModel many;
  many.applyUpdate(test::demoRun({.ranks = 120, .steps = 4}));
  const Picture picture = bucketsPicture(many, {970, 600}, Theme::kLight, 2, {7, 113});
  EXPECT_TRUE(holds(picture, QStringLiteral("2 of 120 ranks")));
  for (const DisplayList::Command& command : picture.list.commands()) {
    if (command.op == DisplayList::Op::kText) {
      const QString& text = picture.list.textOf(command);
      if (text == "r113" || text.contains("of 120 ranks")) {
        EXPECT_GE(command.rect.width(), textWidth(text, command.font)) << text.toStdString();
      }
    }
  }
  EXPECT_TRUE(holds(picture, QStringLiteral("r113")));
}

TEST(BucketsPicture, SaysWhyThereIsNothingToSee) {
  RunModel model;
  trace::RunUpdate update;
  update.info.emplace();
  update.info->state = trace::RunState::kFailed;
  model.applyUpdate(update);
  const Picture picture = bucketsPicture(model, {900, 0}, Theme::kLight);
  EXPECT_TRUE(holds(
      picture, QStringLiteral("This run ended before DistributedDataParallel told its buckets.")));
}

TEST(BucketsPicture, ShowsTheLayoutOfARunWithoutEvents) {
  trace::RunUpdate update = test::BucketRun().update;
  update.spans.clear();
  RunModel model;
  model.applyUpdate(update);
  const Picture picture = bucketsPicture(model, {900, 0}, Theme::kLight, 1);
  EXPECT_TRUE(holds(picture, QStringLiteral("No events of iteration 1 were recorded")));
  EXPECT_TRUE(holds(picture, QStringLiteral("3 buckets")));
}

}  // namespace
}  // namespace lockstep::ui
