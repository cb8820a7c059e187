#include "ui/views/overlap/OverlapPicture.h"

#include <algorithm>
#include <cmath>
#include <future>

#include "engine/base/FreedMemory.h"
#include "ui/chart/Card.h"
#include "ui/model/RunTitle.h"
#include "ui/views/overlap/BucketScene.h"
#include "ui/views/overlap/OverlapScene.h"

namespace lockstep::ui {
namespace {

constexpr double kPictureTitle = 34;
constexpr int kRoomForAll = 110;  // header, ruler, legend
constexpr int kRank = 190;
constexpr int kLeast = 620;             // room for the causes
constexpr int kMostRows = 9;            // no higher than two screens
constexpr double kBucketsShare = 0.45;  // of a picture whose height is given, at most

}  // namespace

Picture overlapPicture(const RunModel& model, const AnalysedRun& run, QSize size, Theme theme,
                       const std::vector<int>& shown) {
  const Palette& palette = Palette::of(theme);
  analysis::StepsAndDelays of = analysis::stepsAndDelays(run.data, run.analysis);
  base::giveBackFreedMemory();
  auto buckets =
      std::async(std::launch::async, [&] { return bucketContent(run, std::move(of.delays)); });
  const auto content = overlapContent(run, std::move(of.steps), RankMedians::kMeasuredAlone);
  const auto cells = buckets.get();
  Picture picture;
  picture.title = titleOfRun(model);
  OverlapFrame frame;
  frame.shown = shown;
  frame.headed = false;
  frame.size = QSizeF(size.width(), kLeast);
  const OverlapScene rows(*content, palette, frame);
  const int ranks = std::min(
      kMostRows, static_cast<int>(rows.rows().size()) + (rows.spreadPlot().isEmpty() ? 0 : 1));
  double above = std::ceil(BucketScene::comfortableHeight(*cells));
  if (size.height() > 0) {
    above = std::min(above, std::floor(kBucketsShare * size.height()));
  }
  // By the number of ranks, and never so low that the causes have no room.
  const double height =
      size.height() > 0
          ? size.height()
          : above + std::max(kLeast, static_cast<int>(kPictureTitle) + kRoomForAll + kRank * ranks);
  picture.size = QSizeF(size.width(), height);
  DisplayList& list = picture.list;
  list.fill(QRectF(QPointF(0, 0), picture.size), palette.surface);
  list.title(QRectF(14, 4, picture.size.width() - 28, kPictureTitle - 4),
             picture.title + QStringLiteral(": overlap"), palette);
  BucketFrame top;
  top.size = QSizeF(picture.size.width(), above);
  list.append(drawn(BucketScene(*cells, palette, top)), QPointF(0, kPictureTitle));
  const double below = kPictureTitle + above;
  list.fill(QRectF(0, below, picture.size.width(), 1), palette.gridStrong);
  const QSizeF rest(picture.size.width(), picture.size.height() - below - 1);
  DisplayList body;
  if (content->rows == 0) {
    body.fill(QRectF(QPointF(0, 0), rest), palette.background);
    drawMessage(body, QRectF(QPointF(0, 0), rest), QStringLiteral("This run recorded no iteration"),
                QStringLiteral("Capture was off, or the run ended before its first iteration."),
                palette.text, palette);
  } else {
    frame.size = rest;
    frame.firstStep = content->firstStep;
    frame.lastStep = content->lastStep + 1.0;
    OverlapScene(*content, palette, frame).draw(body);
  }
  list.append(body, QPointF(0, below + 1));
  return picture;
}

}  // namespace lockstep::ui
