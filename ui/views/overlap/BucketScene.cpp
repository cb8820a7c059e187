#include "ui/views/overlap/BucketScene.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/RangesText.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {
namespace {

constexpr double kTop = 6;
constexpr double kHeadline = 20;  // a line
constexpr double kNote = 15;
constexpr double kGutter = 76;
constexpr double kGutterOfMany = 128;  // "1,023 ranks alike"
constexpr double kLegend = 34;
constexpr double kHighestCell = 64;
constexpr double kUsualCell = 40;
constexpr double kBarsFrom = 320;    // px of a frame
constexpr double kBarsShare = 0.36;  // of it
constexpr double kHighestBars = 220;
constexpr double kMostBarsShare = 0.55;       // where the cells leave it to them
constexpr std::size_t kComfortableRows = 12;  // that a comfortable height has room for
constexpr double kReadableCell = 18;
constexpr std::size_t kReadableRows = 4;  // of which the cells keep that height as long as they can
constexpr double kLowestBars = 96;

QString scopeOf(const CellChoice& choice, std::uint32_t firstMeasured) {
  return choice.scope == CellScope::kStep
             ? QStringLiteral("Of iteration %1").arg(formatCount(choice.step))
             : QStringLiteral("The %1 of the measured iterations, from %2 on")
                   .arg(choice.scope == CellScope::kMean ? QStringLiteral("mean")
                                                         : QStringLiteral("median"))
                   .arg(firstMeasured);
}

}  // namespace

BucketScene::BucketScene(const BucketContent& content, const Palette& palette,
                         const BucketFrame& frame)
    : content_(content), palette_(palette), frame_(frame), rows_(content.rows(frame.folded)) {
  if (!content_.empty.isEmpty()) {
    return;
  }
  if (frame_.selected && frame_.selected->row < rows_.size() &&
      frame_.selected->bucket < content_.delays.buckets) {
    shown_ = frame_.selected;
  } else if (const auto& costliest = content_.verdict.costliest) {
    if (const auto row = content_.rowOf(costliest->rank, frame_.folded)) {
      shown_ = BucketPlace{*row, costliest->bucket};
    }
  }
  layOut();
}

// From the top: headline, which bucket costs most, notes, numbers of the buckets, cells with the
// sums under and beside them, legend, and the iterations of one cell. In a low frame the cells have
// the room: the notes keep their first sentence, then the iterations get lower, and then they go.
void BucketScene::layOut() {
  const double room = std::max(60.0, frame_.size.width() - 2 * kMargin);
  headline_ = brokenInto(content_.headline, room, FontRole::kBold);
  verdict_ = brokenInto(QString::fromStdString(diagnosis::textOf(content_.verdict)), room,
                        FontRole::kNormal);
  const bool many = content_.delays.ranks.size() > kFewRanks;
  const QString what = titleOf(frame_.choice.figure) +
                       QStringLiteral(" by rank and bucket, in ms a step.");
  notes_ = brokenInto(what + QStringLiteral(" ") + meaning(many), room, FontRole::kSmall);
  gutter_ = many ? kGutterOfMany : kGutter;
  const auto top = [&] {
    return kTop + kHeadline * static_cast<double>(headline_.size() + verdict_.size()) +
           kNote * static_cast<double>(notes_.size()) + kTitles;
  };
  double bars = frame_.size.height() >= kBarsFrom && shown_
                    ? std::min(kHighestBars, kBarsShare * frame_.size.height())
                    : 0;
  const auto down = [&] {
    return frame_.size.height() - bars - top() - kLegend - kEdge - kEdgeGap;
  };
  const auto rows = static_cast<double>(std::max<std::size_t>(1, rows_.size()));
  const double readable = kReadableCell * std::min(rows, static_cast<double>(kReadableRows));
  if (down() < readable) {
    notes_ = brokenInto(what, room, FontRole::kSmall);
  }
  if (down() < readable && bars > 0) {
    bars += down() - readable;
    bars = bars < kLowestBars ? 0 : bars;
  }
  barsArea_ = QRectF(0, frame_.size.height() - bars, frame_.size.width(), bars);
  const double across = std::max(8.0, frame_.size.width() - gutter_ - kMargin - kEdgeGap);
  // As wide as there is room, with a column more for the sums; no higher than can be compared at a
  // glance, however few there are.
  const double width = across / (content_.delays.buckets + 1);
  const double height = std::min(kHighestCell, std::max(8.0, down()) / rows);
  cells_ = QRectF(gutter_, top(), width * content_.delays.buckets,
                  height * static_cast<double>(rows_.size()));
  if (bars > 0) {
    const double free = cells_.bottom() + kEdgeGap + kEdge + kLegend;
    const double highest = frame_.size.height() * (1 - kMostBarsShare);
    barsArea_.setTop(std::min(barsArea_.top(), std::max(free, highest)));
  }
}

QString BucketScene::meaning(bool many) const {
  const QString edges =
      !addsUp(frame_.choice.figure) ? QStringLiteral(" At the edges: the most.")
      : many                        ? QStringLiteral(
                                          " At the edges: a rank's buckets together, a bucket's mean over the ranks.")
             : QStringLiteral(" At the edges: the sums.");
  const QString beside =
      frame_.choice.figure == CellFigure::kCost
          ? QStringLiteral(
                " Exposed time in which it had no core, or outside of buckets, is in none.")
          : QString();
  const QString folded =
      rows_.size() < content_.delays.ranks.size()
          ? QStringLiteral(" Of ranks that look the same a row shows the middle one.")
          : QString();
  return scopeOf(frame_.choice, content_.firstMeasured) + QStringLiteral(". ") +
         meaningOf(frame_.choice.figure) + edges + beside + folded +
         (content_.note.isEmpty() ? QString() : QStringLiteral(" ") + content_.note);
}

double BucketScene::comfortableHeight(const BucketContent& content) {
  if (!content.empty.isEmpty()) {
    return 150;
  }
  const auto rows = static_cast<double>(std::min(kComfortableRows, content.rows(true).size()));
  const double grid =
      kTop + 2 * kHeadline + 2 * kNote + kTitles + kUsualCell * rows + kEdge + kEdgeGap + kLegend;
  return std::max(kBarsFrom, grid / (1 - kBarsShare));
}

QRectF BucketScene::rectOf(const BucketPlace& place) const {
  const double width = cells_.width() / std::max(1, content_.delays.buckets);
  const double height =
      cells_.height() / static_cast<double>(std::max<std::size_t>(1, rows_.size()));
  return {cells_.left() + width * place.bucket,
          cells_.top() + height * static_cast<double>(place.row), width, height};
}

std::optional<BucketPlace> BucketScene::placeAt(QPointF position) const {
  const QRectF origin = rectOf({0, 0});
  if (origin.isEmpty()) {
    return std::nullopt;
  }
  const double column = (position.x() - origin.left()) / origin.width();
  const double row = (position.y() - origin.top()) / origin.height();
  if (column < 0 || row < 0 || column >= content_.delays.buckets ||
      row >= static_cast<double>(rows_.size())) {
    return std::nullopt;
  }
  return BucketPlace{static_cast<std::size_t>(row), static_cast<int>(column)};
}

std::optional<std::size_t> BucketScene::shownRank() const {
  return shown_ ? std::optional(content_.mostOf(rows_[shown_->row], shown_->bucket, frame_.choice))
                : std::nullopt;
}

std::optional<BucketBars> BucketScene::bars() const {
  const auto rank = shownRank();
  return rank && !barsArea_.isEmpty()
             ? std::optional<BucketBars>(std::in_place, content_, *rank, shown_->bucket, barsArea_,
                                         palette_)
             : std::nullopt;
}

std::optional<double> BucketScene::valueOf(const BucketPlace& place) const {
  return content_.valueOf(rows_[place.row], place.bucket, frame_.choice);
}

// What is unknown of one is left out of a sum.
std::optional<double> BucketScene::ofRow(std::size_t row) const {
  std::optional<double> all;
  for (int bucket = 0; bucket < content_.delays.buckets; ++bucket) {
    if (const auto value = valueOf({row, bucket})) {
      all = addsUp(frame_.choice.figure) ? all.value_or(0) + *value
                                         : std::max(all.value_or(0), *value);
    }
  }
  return all;
}

std::optional<double> BucketScene::ofBucket(int bucket) const {
  std::optional<double> all;
  std::size_t known = 0;
  for (std::size_t rank = 0; rank < content_.delays.ranks.size(); ++rank) {
    if (const auto value = content_.valueOf(rank, bucket, frame_.choice)) {
      all = addsUp(frame_.choice.figure) ? all.value_or(0) + *value
                                         : std::max(all.value_or(0), *value);
      known += 1;
    }
  }
  const bool mean = all && addsUp(frame_.choice.figure) && content_.delays.ranks.size() > kFewRanks;
  return mean ? std::optional(*all / static_cast<double>(known)) : all;
}

void BucketScene::draw(DisplayList& list) const {
  const QRectF whole(QPointF(0, 0), frame_.size);
  list.fill(whole, palette_.background);
  if (!content_.empty.isEmpty()) {
    drawMessage(list, whole, QStringLiteral("No bucket was communicated"), content_.empty,
                palette_.text, palette_);
    return;
  }
  // One scale for all cells, of what is shown now: another iteration has another one.
  double most = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (int bucket = 0; bucket < content_.delays.buckets; ++bucket) {
      most = std::max(most, valueOf({row, bucket}).value_or(0));
    }
  }
  drawHeader(list);
  drawCells(list, most);
  drawColumns(list);
  drawRows(list);
  drawEdges(list);
  drawLargest(list, most);
  drawLegend(list, most);
  if (shown_) {
    const QRectF rect = rectOf(*shown_);
    list.outline(rect.adjusted(0, 0, -1, -1), palette_.accent, 3);
    list.outline(rect.adjusted(1, 1, -2, -2), palette_.accent, 3);
  }
  if (const auto below = bars()) {
    below->draw(list, frame_.step);
  }
  drawPointer(list);
}

void BucketScene::drawHeader(DisplayList& list) const {
  QRectF line(kMargin, kTop, frame_.size.width() - 2 * kMargin, kHeadline);
  for (const QString& text : headline_) {
    list.title(line, text, palette_);
    line.translate(0, kHeadline);
  }
  for (const QString& text : verdict_) {
    list.text(line, text, palette_.text);
    line.translate(0, kHeadline);
  }
  line.setHeight(kNote);
  list.lines(line, notes_, palette_.textMuted);
}

std::vector<int> BucketScene::ranksOf(std::size_t row) const {
  std::vector<int> ranks;
  for (const std::size_t rank : rows_[row].ranks) {
    ranks.push_back(content_.delays.ranks[rank]);
  }
  return ranks;
}

// Who stands out is named, if it is all ranks of a host.
QString BucketScene::nameOf(std::size_t row) const {
  constexpr std::size_t kMostRanges = 2;
  const std::vector<int> ranks = ranksOf(row);
  return ranks.size() == 1   ? QStringLiteral("rank %1").arg(ranks.front())
         : rows_[row].unlike ? QStringLiteral("ranks ") +
                                   QString::fromStdString(base::rangesText(ranks, kMostRanges))
                             : QStringLiteral("%1 ranks alike").arg(formatCount(ranks.size()));
}

void BucketScene::drawPointer(DisplayList& list) const {
  if (!frame_.pointer) {
    return;
  }
  if (const auto place = placeAt(*frame_.pointer)) {
    list.outline(rectOf(*place).adjusted(0, 0, -1, -1), palette_.hover, 2);
    drawFactCard(list, frame_.size, *frame_.pointer,
                 QStringLiteral("%1, bucket %2").arg(nameOf(place->row)).arg(place->bucket), {},
                 factsOf(*place), palette_);
  } else if (const auto below = bars()) {
    below->drawCard(list, frame_.size, *frame_.pointer);
  }
}

std::vector<Fact> BucketScene::factsOf(const BucketPlace& place) const {
  const BucketContent::Row& row = rows_[place.row];
  const std::size_t most = content_.mostOf(row, place.bucket, frame_.choice);
  Facts lines;
  if (row.ranks.size() > 1) {
    constexpr std::size_t kMostRanges = 6;
    lines.add("Ranks", QString::fromStdString(base::rangesText(ranksOf(place.row), kMostRanges)) +
                           QStringLiteral("; the middle one of them"));
  }
  const analysis::BucketCell& cell = content_.delays.cell(most, place.bucket);
  lines.add("Shown",
            frame_.choice.scope == CellScope::kStep
                ? QStringLiteral("iteration %1").arg(formatCount(frame_.choice.step))
                : QStringLiteral("%1 of %2 measured iterations")
                      .arg(frame_.choice.scope == CellScope::kMean ? QStringLiteral("mean")
                                                                   : QStringLiteral("median"))
                      .arg(formatCount(cell.measuredSteps)));
  for (std::size_t i = 0; i < kCellFigures; ++i) {
    CellChoice other = frame_.choice;
    other.figure = static_cast<CellFigure>(i);
    const auto value = content_.valueOf(row, place.bucket, other);
    lines.push_back({titleOf(other.figure), value ? formatMs(*value) : QStringLiteral("unknown")});
  }
  // Means have no span that a click could select, so the card names the iteration that it does.
  const analysis::BucketSample* sample = content_.sampleOf(most, place.bucket, frame_.choice);
  if (sample != nullptr && frame_.choice.scope != CellScope::kStep) {
    lines.add("Worst", QStringLiteral("%1 in iteration %2 of rank %3; a click selects it")
                           .arg(formatMs(figureOf(*sample, frame_.choice.figure).value_or(0)),
                                formatCount(sample->step))
                           .arg(content_.delays.ranks[most]));
  }
  lines.add("Meaning", meaningOf(frame_.choice.figure));
  return lines;
}

}  // namespace lockstep::ui
