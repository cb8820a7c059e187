#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/engine/run/Changed.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/divergence/DivergentRun.h"
#include "ui/views/divergence/DivergencePicture.h"
#include "ui/views/divergence/DivergenceRows.h"
#include "ui/views/divergence/ParameterScene.h"
#include "ui/views/divergence/SequenceScene.h"

namespace lockstep::ui {
namespace {

using analysis::HandMadeRun;

const Palette& light() {
  return Palette::of(Theme::kLight);
}

bool says(const DisplayList& list, const QString& part) {
  return std::any_of(list.texts().begin(), list.texts().end(),
                     [&part](const QString& text) { return text.contains(part); });
}

bool hasColour(const DisplayList& list, DisplayList::Op op, const QColor& colour) {
  return std::any_of(list.commands().begin(), list.commands().end(),
                     [&](const DisplayList::Command& command) {
                       return command.op == op && command.colour == colour.rgba();
                     });
}

ParameterFrame whole(const DivergenceFacts& facts, QSizeF size = {1000, 600}) {
  ParameterFrame frame;
  frame.size = size;
  frame.firstStep = facts.firstStep;
  frame.endStep = facts.lastStep + 1.0;
  return frame;
}

DisplayList drawn(const DivergenceFacts& facts, const ParameterFrame& frame) {
  DisplayList list;
  ParameterScene(facts, light(), frame).draw(list);
  return list;
}

TEST(ParameterSceneTest, SaysThatAllRanksAreEqual) {
  const auto facts = test::factsOfRun(test::replicas(42, 3, 99, 0));
  const DisplayList list = drawn(*facts, whole(*facts));
  EXPECT_TRUE(says(list, "All ranks equal for 410 iterations"));
  EXPECT_EQ(verdictOf(*facts).kind, Verdict::Kind::kEqual);
  EXPECT_FALSE(says(list, "first difference"));
}

TEST(ParameterSceneTest, OutlinesTheFirstBadCellHoweverFarItIsFolded) {
  const auto facts = test::factsOfRun(test::replicas(5000, 40, 3210, 17));
  const ParameterFrame frame = whole(*facts, {700, 400});
  const DisplayList list = drawn(*facts, frame);
  EXPECT_TRUE(says(list, "first difference: iteration 32100"));
  EXPECT_TRUE(says(list, "Replicas differ, first seen at iteration 32100"));
  EXPECT_TRUE(verdictOf(*facts).more.contains("Last seen equal at iteration 32090"));
  const ParameterScene scene(*facts, light(), frame);
  const auto rect = scene.rectOf({3210, 17});
  ASSERT_TRUE(rect.has_value());
  EXPECT_GE(rect->width(), 3) << "wide enough to be seen";
  const QColor worst = mixed(light().error, light().background, 0.95);
  EXPECT_TRUE(hasColour(list, DisplayList::Op::kFill, worst)) << "drawn, not only outlined";
  EXPECT_EQ(scene.placeAt(rect->center()), (ReplicaPlace{3210, 17}))
      << "one of the cells under the pixel is the bad one: that is meant";
  EXPECT_LT(list.commands().size(), 3000u) << "it costs pixels, not samples";
}

TEST(ParameterSceneTest, BetweenTheLastEqualAndTheFirstUnlikeSampleItIsNotDrawnAsEqual) {
  const auto facts = test::factsOfRun(test::replicas(8, 3, 5, 1));
  ParameterFrame frame = whole(*facts);
  const DisplayList list = drawn(*facts, frame);
  EXPECT_TRUE(says(list, "between samples, not known"));
  const ParameterScene scene(*facts, light(), frame);
  const QRectF last = *scene.rectOf({4, 1});
  frame.pointer = QPointF(scene.axis().toX(45), last.center().y());
  EXPECT_TRUE(says(drawn(*facts, frame), "between samples: equal at 40, no more at 50"));
  EXPECT_TRUE(says(drawn(*facts, frame), "not known: nobody compared them here"));
  const QColor green = mixed(light().good, light().background, 0.28);
  for (const DisplayList::Command& command : list.commands()) {
    const bool ofRow = command.rect.top() >= last.top() && command.rect.bottom() <= last.bottom();
    if (command.op == DisplayList::Op::kFill && ofRow && command.colour == green.rgba()) {
      const bool before = command.rect.right() <= scene.axis().toX(41) + 1e-6;
      EXPECT_TRUE(before || command.rect.left() >= scene.axis().toX(60) - 1e-6);
    }
  }
  EXPECT_FALSE(says(drawn(*test::factsOfRun(test::replicas(8, 3, 99, 0)), whole(*facts)),
                    "between samples"));
}

TEST(ParameterSceneTest, FoldsMoreParametersThanPixels) {
  const auto facts = test::factsOfRun(test::replicas(3, 1500, 1, 1234));
  const ParameterFrame frame = whole(*facts, {900, 500});
  const ParameterScene scene(*facts, light(), frame);
  const auto rect = scene.rectOf({1, 1234});
  ASSERT_TRUE(rect.has_value());
  EXPECT_EQ(scene.placeAt(rect->center()), (ReplicaPlace{1, 1234}));
  EXPECT_TRUE(hasColour(drawn(*facts, frame), DisplayList::Op::kFill,
                        mixed(light().error, light().background, 0.95)));
}

TEST(ParameterSceneTest, HoverTellsTheRanksAndTheirValues) {
  const auto facts = test::factsOfRun(test::replicas(4, 3, 2, 1));
  ParameterFrame frame = whole(*facts);
  frame.pointer = ParameterScene(*facts, light(), frame).rectOf({2, 1})->center();
  const DisplayList list = drawn(*facts, frame);
  EXPECT_TRUE(says(list, "20, before its forward"));
  EXPECT_TRUE(says(list, "rank 1 against the others, without a majority"));
  EXPECT_TRUE(says(list, "norm 1.50, hash 000000000000029a"));
}

TEST(ParameterSceneTest, SaysHowToTurnFingerprintsOn) {
  HandMadeRun run(2);
  run.add(0, trace::EventKind::kStep, 0, 10, 0);
  const auto facts = test::factsOfRun(run.data());
  const DisplayList list = drawn(*facts, whole(*facts));
  EXPECT_TRUE(says(list, "This run recorded no fingerprints"));
  EXPECT_TRUE(verdictOf(*facts).more.contains(
      "Whether its replicas are equal is not known. Set fingerprint_every = 10 under [capture]"));
}

TEST(ParameterSceneTest, SaysOfAJobOfPyTorchThatItsReplicasAreNotKnown) {
  FactsInput input;
  auto run = std::make_shared<AnalysedRun>();
  HandMadeRun made(2);
  made.add(0, trace::EventKind::kStep, 0, 10, 0);
  run->data = made.data();
  run->analysis = analysis::analyse(run->data);
  input.run = run;
  input.observed = true;
  const Verdict verdict = verdictOf(*divergenceFacts(std::move(input)));
  EXPECT_EQ(verdict.title, "This run recorded no fingerprints");
  EXPECT_EQ(verdict.more,
            "Whether the replicas of this job are equal is not known: lockstep record "
            "--check-replicas 10 compares them. ");
}

TEST(ParameterSceneTest, ALossThatIsNoNumberIsMarked) {
  analysis::RunData data = test::replicas(4, 1, 9, 0);
  for (std::uint32_t step = 0; step < 30; ++step) {
    data.losses.push_back({0, 0, "loss", step, 0, 1.0});
    data.losses.push_back({0, 1, "loss", step, 0, step < 17 ? 1.0 : std::nan("")});
  }
  const auto facts = test::factsOfRun(data);
  const DisplayList list = drawn(*facts, whole(*facts));
  EXPECT_TRUE(says(list, "no finite number, first in iteration 17, rank 1"));
  EXPECT_TRUE(says(list, "Not everything is a finite number, first seen at iteration 17"));
  EXPECT_TRUE(verdictOf(*facts).more.startsWith("All ranks equal for 30 iterations. "));
  EXPECT_EQ(verdictOf(*facts).kind, Verdict::Kind::kUnsound);
}

TEST(ParameterSceneTest, ValuesOfFewStepsHaveADotEachAsNothingIsKnownBetweenThem) {
  const auto dotsOf = [](std::uint32_t apart) {
    analysis::RunData data = test::replicas(41, 1, 99, 0);  // 400 steps
    for (std::uint32_t step = 0; step <= 400; step += apart) {
      data.losses.push_back({0, 0, "loss", step, 0, 1.0 + step});
    }
    const auto facts = test::factsOfRun(std::move(data));
    const DisplayList list = drawn(*facts, whole(*facts));
    return std::ranges::count_if(list.commands(), [](const DisplayList::Command& command) {
      return command.op == DisplayList::Op::kFill && command.rect.size() == QSizeF(4, 4) &&
             command.colour == light().rank(0).rgba();
    });
  };
  EXPECT_EQ(dotsOf(40), 11);
  EXPECT_EQ(dotsOf(1), 0) << "a line, whose points touch";
}

TEST(ParameterSceneTest, ParametersThatAreNotFiniteAreNotDrawnAsEqual) {
  analysis::RunData data = test::replicas(4, 2, 9, 0);
  run::changeEach(data.fingerprints, [](trace::FingerprintRow& row) {
    row.norm = row.step >= 20 ? std::nan("") : row.norm;
  });
  const auto facts = test::factsOfRun(data);
  const Verdict verdict = verdictOf(*facts);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kUnsound);
  EXPECT_EQ(verdict.title, "Not everything is a finite number, first seen at iteration 20");
  EXPECT_TRUE(verdict.more.startsWith("All ranks equal for 20 iterations. "));
  EXPECT_TRUE(
      verdict.more.contains("parameter 0 of rank 0 held numbers that are not finite, first seen "
                            "at iteration 20"));
  const DisplayList list = drawn(*facts, whole(*facts));
  EXPECT_TRUE(says(list, "not finite"));
  EXPECT_TRUE(
      hasColour(list, DisplayList::Op::kFill, mixed(light().text, light().background, 0.75)));
}

TEST(ParameterSceneTest, ReplicasThatDriftByDesignAreNoMistake) {
  analysis::RunData data = test::replicas(4, 2, 2, 1);
  for (int rank = 0; rank < 2; ++rank) {
    data.sketches.push_back({0, rank, 20, std::vector<double>(16, rank)});
  }
  const auto facts = test::factsOfRun(data, true, "post_local_sgd");
  const Verdict verdict = verdictOf(*facts);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kDrift);
  EXPECT_EQ(verdict.title, "Replicas drift by design of hook post_local_sgd");
  EXPECT_TRUE(
      verdict.more.contains("First seen apart at iteration 20. At iteration 20 they were "
                            "2.00 from their mean (Euclidean, root mean square over ranks; ± 18 "
                            "%). "))
      << verdict.more.toStdString();
  const DisplayList list = drawn(*facts, whole(*facts));
  EXPECT_TRUE(says(list, "first apart: iteration 20"));
  for (const DisplayList::Command& command : list.commands()) {
    EXPECT_NE(command.colour, light().error.rgba()) << "no cross, no cell, no label is red";
  }
  const auto rows = parameterRows(facts);
  EXPECT_FALSE(rows->look(1, 0, Qt::ForegroundRole).isValid());
}

// Ranks 0 and 1 make calls 0 to 999; rank 1 calls broadcast as its number 700.
std::shared_ptr<const DivergenceFacts> calls() {
  HandMadeRun run(2);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    for (int rank = 0; rank < 2; ++rank) {
      const bool odd = rank == 1 && number == 700;
      run.addCollective(rank, 10 * number, 10 * number + 5, number, 0,
                        odd ? trace::Operation::kBroadcast : trace::Operation::kAllreduce);
    }
  }
  return test::factsOfRun(run.data());
}

TEST(SequenceSceneTest, DrawsWhatIsInSightAndOutlinesTheFirstMismatch) {
  const auto facts = calls();
  SequenceFrame frame;
  frame.size = {1000, 400};
  DisplayList top;
  SequenceScene(*facts, light(), frame).draw(top);
  EXPECT_LT(top.commands().size(), 500u);
  EXPECT_FALSE(says(top, "first: "));
  frame.scroll = SequenceScene(*facts, light(), frame).scrollTo(700);
  DisplayList there;
  SequenceScene(*facts, light(), frame).draw(there);
  EXPECT_TRUE(says(there, "first: operation mismatch"));
  EXPECT_TRUE(says(there, "broadcast"));
  EXPECT_TRUE(hasColour(there, DisplayList::Op::kOutline, light().error));
}

TEST(SequenceSceneTest, TheOverviewLeadsToAMismatchByItsPixel) {
  const auto facts = calls();
  SequenceFrame frame;
  frame.size = {1000, 400};
  const SequenceScene scene(*facts, light(), frame);
  const double y = SequenceScene::kHeader + 0.7 * (400 - SequenceScene::kHeader);
  EXPECT_EQ(scene.overviewRowAt({995, y}), 700u);
  EXPECT_EQ(scene.overviewRowAt({500, y}), std::nullopt);
}

TEST(SequenceSceneTest, MayLeaveOutWhatMatches) {
  const auto facts = calls();
  SequenceFrame frame;
  frame.size = {1000, 400};
  frame.suspectsOnly = true;
  const SequenceScene scene(*facts, light(), frame);
  EXPECT_EQ(scene.contentHeight(), SequenceScene::kRow);
  const auto place = scene.placeAt({300, SequenceScene::kHeader + 5});
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->row, 700u);
  EXPECT_EQ(scene.rectOf({699, std::nullopt}), std::nullopt);
}

// Of 400 ranks, rank 397 makes another call than the rest in step 2, and comes late to all.
HandMadeRun manyRanks() {
  HandMadeRun run(400);
  for (std::uint32_t step = 0; step < 3; ++step) {
    for (int rank = 0; rank < 400; ++rank) {
      const bool odd = rank == 397;
      run.addCollective(
          rank, 100'000 * step + (odd ? 7'000 : 4'000), 100'000 * step + 10'000, step, step,
          odd && step == 2 ? trace::Operation::kBroadcast : trace::Operation::kAllreduce);
    }
  }
  return run;
}

TEST(SequenceSceneTest, OfManyRanksTheFirstAndThoseThatDifferHaveColumns) {
  const auto facts = test::factsOfRun(manyRanks().data());
  SequenceFrame frame;
  frame.size = {1000, 400};
  const SequenceScene scene(*facts, light(), frame);
  DisplayList list;
  scene.draw(list);
  for (const char* text : {"rank 0", "rank 397", "2 of 400 ranks", "broadcast"}) {
    EXPECT_TRUE(says(list, QString::fromLatin1(text))) << text;
  }
  EXPECT_FALSE(says(list, "rank 1"));
  const CallPlace odd{2, 397};
  ASSERT_TRUE(scene.rectOf(odd).has_value());
  EXPECT_EQ(scene.placeAt(scene.rectOf(odd)->center()), odd);
  frame.selected = CallPlace{0, 55};
  DisplayList selected;
  SequenceScene(*facts, light(), frame).draw(selected);
  EXPECT_TRUE(says(selected, "rank 55"));
}

TEST(DivergencePictureTest, HoldsBothParts) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  auto run = std::make_shared<AnalysedRun>();
  run->data = test::replicas(4, 3, 2, 1);
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    const Picture picture = divergencePicture(model, run, {1280, 800}, theme);
    EXPECT_EQ(picture.size, QSizeF(1280, 800));
    EXPECT_TRUE(says(picture.list, "Replicas differ, first seen at iteration 20"));
    EXPECT_TRUE(says(picture.list, "No collective was recorded"));
    EXPECT_FALSE(renderPicture(picture, 1).isNull());
  }
}

}  // namespace
}  // namespace lockstep::ui
