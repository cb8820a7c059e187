#include <algorithm>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"
#include "ui/views/buckets/BucketFacts.h"
#include "ui/views/buckets/BucketsScene.h"

// The buckets as rows: label, parameters as cells, cap.
namespace lockstep::ui {
namespace {

using namespace buckets_metrics;
using analysis::BucketStage;

constexpr double kTextLeast = 26;  // narrower cells carry no name
constexpr double kCapWords = 15;   // px of the height of its plate
constexpr double kCapWordsFrom = 22;

}  // namespace

void BucketsScene::drawRow(DisplayList& list, int bucket) const {
  const QRectF row = layout_.row(bucket);
  if (bucket % 2 == 1) {
    list.fill(row, palette_.lane);
  }
  const bool selected = bucket == frame_.selectedBucket;
  if (selected) {
    list.fill(row, withAlpha(palette_.accent, 0.09f));
    list.fill(QRectF(0, row.top(), 3, row.height()), palette_.accent);
  } else if (frame_.hovered.bucket == bucket) {
    list.fill(row, withAlpha(palette_.hover, 0.04f));
  }
  list.fill(QRectF(0, row.bottom() - 1, row.width(), 1), palette_.grid);
  drawLabel(list, bucket, row);
  drawCells(list, bucket);
  if (story_.measured()) {
    for (int rank = 0; rank < story_.rankCount(); ++rank) {
      drawStrip(list, bucket, rank);
    }
  }
}

// The stage of the rank that is behind the others; all at one stage says it once.
QString BucketsScene::stageText(int bucket) const {
  const auto& ranks = story_.lives[static_cast<std::size_t>(bucket)].ranks;
  const std::uint64_t now = nowTicks();
  BucketStage least = BucketStage::kDone;
  for (const analysis::BucketTimes& times : ranks) {
    // The bucket is as far as its last rank.
    least = std::min(least, times.stageAt(now));
  }
  if (least == BucketStage::kFilling || least == BucketStage::kEmpty) {
    const auto& parameters = story_.layout.buckets[static_cast<std::size_t>(bucket)].parameters;
    int ready = 0;
    for (const std::uint32_t parameter : parameters) {
      ready += story_.readyRanks(parameter, now);
    }
    // Of all its parameters on all ranks.
    const int all = static_cast<int>(parameters.size()) * story_.rankCount();
    return ready == 0 ? stageName(BucketStage::kEmpty)
                      : QStringLiteral("filling, %1 %").arg(ready * 100 / std::max(1, all));
  }
  for (const analysis::BucketTimes& times : ranks) {
    if (least == BucketStage::kReady && times.stageAt(now) == least && times.stalledBehind) {
      return QStringLiteral("stalled behind b%1").arg(*times.stalledBehind);
    }
  }
  return stageName(least);
}

void BucketsScene::drawLabel(DisplayList& list, int bucket, const QRectF& row) const {
  const auto& of = story_.layout.buckets[static_cast<std::size_t>(bucket)];
  const QRectF chip(9, row.top() + 9, 10, 10);
  list.fill(chip, bucketColour(bucket), 2);
  list.title(QRectF(25, row.top() + 4, kLabelWidth - 28, 19),
             QStringLiteral("Bucket %1").arg(bucket), palette_);
  // During a replay the stage takes the place of the size, which moves a line down.
  const bool replaying = frame_.replayNs && story_.measured();
  const QString size = QStringLiteral("%1 · %2").arg(formatBytes(of.bytes),
                                                     formatCounted(of.parameters.size(), "param"));
  list.text(QRectF(25, row.top() + 20, kLabelWidth - 28, 15), replaying ? stageText(bucket) : size,
            replaying ? palette_.text : palette_.textMuted, FontRole::kSmall);
  if (row.height() >= 52) {
    list.note(QRectF(25, row.top() + 34, kLabelWidth - 28, 15),
              replaying ? size
              : of.limitBytes == 0
                  ? (story_.observed ? QStringLiteral("cap not told") : QStringLiteral("no cap"))
              : capWords(bucket).isEmpty() ? capName(bucket)
                                           : QString(),
              palette_);
  }
}

void BucketsScene::drawCells(DisplayList& list, int bucket) const {
  const std::vector<BucketsLayout::Cell> cells = layout_.cells(bucket);
  // Cells, then the cap over them, then texts, which make room for the cap's line.
  for (const BucketsLayout::Cell& cell : cells) {
    drawCell(list, bucket, cell);
  }
  drawCap(list, bucket);
  for (const BucketsLayout::Cell& cell : cells) {
    drawCellText(list, bucket, cell);
  }
  drawNamesBeside(list, bucket, cells);
}

double BucketsScene::readyPart(int bucket, const BucketsLayout::Cell& cell) const {
  if (!story_.measured()) {
    return 1;
  }
  const auto& order = story_.layout.buckets[static_cast<std::size_t>(bucket)].parameters;
  const auto first = order.begin() + static_cast<std::ptrdiff_t>(cell.place);
  int ready = 0;
  for (auto at = first; at != first + cell.count; ++at) {
    ready += story_.readyRanks(*at, nowTicks());
  }
  return static_cast<double>(ready) / (story_.rankCount() * cell.count);
}

void BucketsScene::drawCell(DisplayList& list, int bucket, const BucketsLayout::Cell& cell) const {
  const QColor full = bucketColour(bucket);
  QRectF rect = cell.rect;
  if (rect.width() > 5) {
    rect.setRight(rect.right() - 1);  // a seam between neighbours
  }
  const double radius = rect.width() > 8 ? 2 : 0;
  const double part = readyPart(bucket, cell);
  // What is not ready everywhere is filled from below, by the part that is.
  list.fill(rect, part >= 1 ? full : mixed(full, palette_.background, 0.16), radius);
  if (part < 1) {
    list.fill(QRectF(rect.left(), rect.bottom() - rect.height() * part, rect.width(),
                     rect.height() * part),
              full);
    list.outline(rect, withAlpha(full, 0.7f), radius);
  }
  const auto& order = story_.layout.buckets[static_cast<std::size_t>(bucket)].parameters;
  const auto first = order.begin() + static_cast<std::ptrdiff_t>(cell.place);
  const auto last = first + cell.count;
  const auto selected =
      std::find(first, last, static_cast<std::uint32_t>(frame_.selectedParameter));
  if (selected != last) {
    list.outline(rect, palette_.accent, 2);
    list.outline(rect.adjusted(1, 1, -1, -1), palette_.accent, 2);
  } else if (static_cast<int>(cell.parameter) == frame_.hovered.parameter) {
    list.outline(rect, palette_.hover, 2);
  }
}

void BucketsScene::drawCellText(DisplayList& list, int bucket,
                                const BucketsLayout::Cell& cell) const {
  QRectF text = cell.rect.adjusted(4, 0, -4, 0);
  const auto cap = layout_.xOfCap(bucket);
  // At the start of the parameter, before the line of the cap. Right of it a size would be taken
  // for that of what is over the cap: there stands the name alone.
  const bool cut = cap && *cap > text.left() && *cap < text.right();
  const bool before = cut && *cap - 3 - text.left() >= kTextLeast;
  if (before) {
    text.setRight(*cap - 3);
  } else if (cut) {
    text.setLeft(*cap + 4);
  }
  if (const QRectF words = capWords(bucket); words.intersects(text)) {
    text.setLeft(words.right() + 4);
  }
  if (text.width() < kTextLeast) {
    return;
  }
  const double part = readyPart(bucket, cell);
  const QColor ink = part >= 1 ? Palette::textOn(bucketColour(bucket)) : palette_.text;
  const QString name = cell.count > 1 ? QStringLiteral("%1 parameters").arg(cell.count)
                                      : fittingName(story_.nameOf(cell.parameter), text.width());
  const bool twoLines = (before || !cut) && text.height() >= 28 && text.width() > 46 &&
                        cell.count == 1 && cell.parameter < story_.parameters.size();
  list.text(twoLines ? QRectF(text.left(), text.center().y() - 14, text.width(), 14) : text, name,
            ink, FontRole::kSmall);
  if (twoLines) {
    list.text(QRectF(text.left(), text.center().y(), text.width(), 14),
              formatBytes(story_.parameters[cell.parameter].bytes), ink, FontRole::kSmall);
  }
}

// A bucket of narrow cells says beside them what they are.
void BucketsScene::drawNamesBeside(DisplayList& list, int bucket,
                                   const std::vector<BucketsLayout::Cell>& cells) const {
  const bool named = std::any_of(cells.begin(), cells.end(), [](const BucketsLayout::Cell& cell) {
    return cell.rect.width() >= kTextLeast + 8;
  });
  if (named || cells.empty()) {
    return;
  }
  const auto& of = story_.layout.buckets[static_cast<std::size_t>(bucket)];
  const double cap = layout_.xOfCap(bucket).value_or(0);
  const double left = std::max({cells.back().rect.right(), cap, capWords(bucket).right()}) + 8;
  // Room for the cap's words where the cap has no line here.
  const double width =
      layout_.mapColumn().right() - left - (cap == 0 && of.limitBytes > 0 ? 80 : 0);
  QStringList names;
  for (const std::uint32_t parameter : of.parameters) {
    names << story_.nameOf(parameter);
    // The list is elided where it is drawn.
    if (textWidth(names.join(QStringLiteral(", ")), FontRole::kSmall) > width) {
      break;
    }
  }
  const QRectF row = layout_.row(bucket);
  list.note(QRectF(left, row.top(), width, row.height()), names.join(QStringLiteral(", ")),
            palette_);
}

QString BucketsScene::capName(int bucket) const {
  const auto& of = story_.layout.buckets[static_cast<std::size_t>(bucket)];
  return QStringLiteral("cap %1").arg(formatBytes(of.limitBytes));
}

// Right of the line, where there is room for them.
QRectF BucketsScene::capWords(int bucket) const {
  const auto x = layout_.xOfCap(bucket);
  const QRectF row = layout_.row(bucket);
  const double width = x ? textWidth(capName(bucket), FontRole::kSmall) + 8 : 0;
  return x && *x + 3 + width <= layout_.mapColumn().right() && row.height() >= kCapWordsFrom
             ? QRectF(*x + 3, row.center().y() - kCapWords / 2, width, kCapWords)
             : QRectF();
}

void BucketsScene::drawCap(DisplayList& list, int bucket) const {
  const auto& of = story_.layout.buckets[static_cast<std::size_t>(bucket)];
  const QRectF row = layout_.row(bucket);
  const QRectF map = layout_.mapColumn();
  const double end = layout_.xOfBytes(static_cast<double>(of.bytes));
  if (const auto x = layout_.xOfCap(bucket)) {
    // What is over the cap is hatched; what is under it is an empty outline up to the cap.
    if (end > *x + 1) {
      const QRectF over(QPointF(*x, row.top() + 5), QPointF(end - 1, row.bottom() - 4));
      list.hatch(over, withAlpha(palette_.background, 0.32f));
      list.fill(QRectF(over.left(), over.bottom() - 3, over.width(), 3), palette_.warning);
    } else if (*x > end + 4) {
      list.outline(QRectF(QPointF(end, row.top() + 5), QPointF(*x, row.bottom() - 4)),
                   palette_.gridStrong, 2);
    }
    list.fill(QRectF(*x - 1, row.top() + 1, 2, row.height() - 2), palette_.text);
    if (const QRectF words = capWords(bucket); !words.isEmpty()) {
      drawPlate(list, words, capName(bucket), withAlpha(palette_.background, 0.85f),
                {.radius = 2, .ink = palette_.text});
    }
    return;
  }
  // A cap far beyond all buckets would make them all tiny: it is said in words.
  if (of.limitBytes > 0) {
    const QString text = capName(bucket) + QStringLiteral(" ▸");
    const double width = textWidth(text, FontRole::kSmall);
    if (map.right() - width > end + 6) {
      list.note(QRectF(map.right() - width, row.top(), width + 2, row.height()), text, palette_);
    }
  }
}

}  // namespace lockstep::ui
