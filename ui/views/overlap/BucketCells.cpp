#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"
#include "ui/model/ViewState.h"
#include "ui/views/overlap/BucketScene.h"

// The cells with what stands around them: numbers, names, edges, legend.
namespace lockstep::ui {
namespace {

constexpr double kThinnestCell = 2;
constexpr double kTextFrom = 11;  // px of a cell

Tone toneOf(CellFigure figure) {
  switch (figure) {
    case CellFigure::kLateness:
      return Tone::kWait;
    case CellFigure::kWaiting:
      return Tone::kRebuild;
    case CellFigure::kTransfer:
      return Tone::kTransfer;
    case CellFigure::kDuration:
      return Tone::kCommunicate;
    case CellFigure::kExposed:
      return Tone::kUndivided;
    case CellFigure::kCost:
      break;
  }
  return Tone::kBackward;
}

// Never quite the background, so that a cell of 0 is seen as one.
QColor shadeOf(CellFigure figure, double part, const Palette& palette) {
  return mixed(palette.tone(toneOf(figure)), palette.background, 0.08 + 0.87 * part);
}

// Dark and white are read alike on the shades between; white there keeps neighbours of one darkness
// alike.
QColor inkOn(const QColor& ground) {
  constexpr double kWhiteFrom = 3.9;  // contrast
  return contrastRatio(ground, Qt::white) >= kWhiteFrom ? QColor(Qt::white)
                                                        : Palette::textOn(ground);
}

}  // namespace

// Of so many ranks that a row is no pixel high, neighbours share a cell, which shows the largest of
// them: a mean would hide the one that is looked for.
void BucketScene::drawCells(DisplayList& list, double most) const {
  const auto shared =
      static_cast<std::size_t>(std::max(1.0, std::ceil(kThinnestCell / rectOf({0, 0}).height())));
  for (std::size_t row = 0; row < rows_.size(); row += shared) {
    const std::size_t last = std::min(rows_.size(), row + shared) - 1;
    for (int bucket = 0; bucket < content_.delays.buckets; ++bucket) {
      std::size_t largest = row;
      for (std::size_t of = row + 1; of <= last; ++of) {
        largest = valueOf({of, bucket}) > valueOf({largest, bucket}) ? of : largest;
      }
      drawCell(list, {largest, bucket}, rectOf({row, bucket}).united(rectOf({last, bucket})), most);
    }
  }
}

// Where rows are too low for texts and outlines: whose value is the largest, beside its row.
void BucketScene::drawLargest(DisplayList& list, double most) const {
  if (most <= 0 || rectOf({0, 0}).height() >= kTextFrom) {
    return;
  }
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (int bucket = 0; bucket < content_.delays.buckets; ++bucket) {
      if (valueOf({row, bucket}) != most) {
        continue;
      }
      const QRectF rect = rectOf({row, bucket});
      const QString text = QStringLiteral("%1 · %2").arg(nameOf(row), formatMs(most));
      const double width = textWidth(text, FontRole::kBold) + 12;
      const QRectF plate(std::min(rect.center().x() - width / 2, frame_.size.width() - width),
                         rect.center().y() - 9, width, 18);
      drawPlate(list, plate, text, palette_.background,
                {.font = FontRole::kBold, .ink = palette_.text});
      list.outline(plate, palette_.text, 2);
      return;
    }
  }
}

void BucketScene::drawCell(DisplayList& list, const BucketPlace& place, const QRectF& full,
                           double most) const {
  // Where cells are as small as this, a gap would take too much of them.
  const double gap = full.width() >= 12 && full.height() >= 10 ? 2 : 0;
  const QRectF rect = full.adjusted(0, 0, -gap, -gap);
  const auto writes = [&](const QString& text, FontRole font) {
    return full.height() >= kTextFrom && textWidth(text, font) + 4 <= rect.width();
  };
  const auto value = valueOf(place);
  if (!value) {
    list.fill(rect, palette_.surface, gap);
    list.hatch(rect, palette_.grid);
    if (const QString text = QStringLiteral("unknown"); writes(text, FontRole::kSmall)) {
      list.note(rect, text, palette_, Qt::AlignCenter);
    }
    return;
  }
  const QColor ground = shadeOf(frame_.choice.figure, most > 0 ? *value / most : 0, palette_);
  list.fill(rect, ground, gap);
  if (full.height() < kTextFrom) {
    return;
  }
  // All that are as large: there may be several.
  const bool largest = most > 0 && *value == most;
  if (largest) {
    list.outline(rect, palette_.text, gap);
    list.outline(rect.adjusted(1, 1, -1, -1), palette_.text, gap);
  }
  const FontRole font = largest ? FontRole::kBold : FontRole::kSmall;
  if (const QString text = formatMs(*value); writes(text, font)) {
    list.text(rect.adjusted(2, 0, -2, 0), text, inkOn(ground), font, Qt::AlignCenter);
  }
}

void BucketScene::drawColumns(DisplayList& list) const {
  const double cell = rectOf({0, 0}).width();
  const double top = cells_.top() - kTitles + 2;
  // As many numbers as 24 px apiece leave room for.
  const int stride = std::max(1, static_cast<int>(std::ceil(24 / cell)));
  for (int bucket = 0; bucket < content_.delays.buckets; bucket += stride) {
    const double left = rectOf({0, bucket}).left();
    const double room = cell * stride;
    list.label(QRectF(left, top, room, 18),
               room >= 84 ? QStringLiteral("bucket %1").arg(bucket) : QString::number(bucket),
               palette_, Qt::AlignCenter);
    if (static_cast<std::size_t>(bucket) < content_.bytes.size() && room >= 56) {
      list.note(QRectF(left, top + 17, room, 16),
                formatBytes(static_cast<double>(content_.bytes[static_cast<std::size_t>(bucket)])),
                palette_, Qt::AlignCenter);
    }
  }
}

void BucketScene::drawRows(DisplayList& list) const {
  const double height = rectOf({0, 0}).height();
  const auto stride = static_cast<std::size_t>(std::max(1.0, std::ceil(12 / height)));
  for (std::size_t row = 0; row < rows_.size(); row += stride) {
    const QRectF rect = rectOf({row, 0});
    // A label may be higher than its row, where rows are low: it begins at the same height.
    const double middle = rect.top() + std::max(rect.height(), 12.0) / 2;
    const QColor chip = rows_[row].unlike ? palette_.warning
                        : rows_[row].ranks.size() > 1
                            ? palette_.textMuted
                            : palette_.rank(content_.delays.ranks[rows_[row].ranks.front()]);
    list.fill(QRectF(kMargin, middle - 5, 4, 10), chip, 1);
    list.label(QRectF(kMargin + 9, middle - 9, gutter_ - kMargin - 12, 18), nameOf(row), palette_);
  }
}

void BucketScene::drawEdges(DisplayList& list) const {
  const double cell = rectOf({0, 0}).width();
  const double right = cells_.right() + kEdgeGap;
  const double below = cells_.bottom() + kEdgeGap;
  const bool sums = addsUp(frame_.choice.figure);
  const bool many = content_.delays.ranks.size() > kFewRanks;
  const QString most = QStringLiteral("most");
  const auto write = [&](const QRectF& rect, const std::optional<double>& value) {
    const QString text = value ? formatMs(*value) : QStringLiteral("unknown");
    if (textWidth(text, FontRole::kSmall) <= rect.width()) {
      list.label(rect, text, palette_, Qt::AlignCenter);
    }
  };
  if (content_.delays.buckets > 1) {
    list.note(QRectF(right, cells_.top() - kTitles + 2, cell, 18),
              sums ? QStringLiteral("sum") : most, palette_, Qt::AlignCenter);
    for (std::size_t row = 0; row < rows_.size() && rectOf({row, 0}).height() >= kTextFrom; ++row) {
      const QRectF beside = rectOf({row, 0});
      write(QRectF(right, beside.top(), cell, beside.height()), ofRow(row));
    }
  }
  list.fill(QRectF(cells_.left(), below - 4, cells_.width(), 1), palette_.grid);
  list.note(QRectF(kMargin + 9, below, gutter_ - kMargin - 12, kEdge - 4),
            !sums  ? most
            : many ? QStringLiteral("mean")
                   : QStringLiteral("sum"),
            palette_);
  for (int bucket = 0; bucket < content_.delays.buckets; ++bucket) {
    write(QRectF(rectOf({0, bucket}).left(), below, cell, kEdge - 4), ofBucket(bucket));
  }
}

void BucketScene::drawLegend(DisplayList& list, double most) const {
  const QRectF bar(gutter_, cells_.bottom() + kEdgeGap + kEdge + 8, 160, 10);
  constexpr int kPieces = 16;
  for (int i = 0; i < kPieces; ++i) {
    list.fill(QRectF(bar.left() + bar.width() / kPieces * i, bar.top(), bar.width() / kPieces,
                     bar.height()),
              shadeOf(frame_.choice.figure, (i + 0.5) / kPieces, palette_));
  }
  list.note(QRectF(kMargin, bar.top() - 4, gutter_ - kMargin - 8, 18), QStringLiteral("0"),
            palette_, kToTheRight);
  list.note(QRectF(bar.right() + 8, bar.top() - 4, frame_.size.width() - bar.right() - 20, 18),
            formatMs(most) + QStringLiteral("  (the largest is outlined; hatched: unknown)"),
            palette_);
}

}  // namespace lockstep::ui
