#include "ui/views/divergence/BucketScene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

using analysis::BucketMeasure;

constexpr double kGutter = 76;
constexpr double kHeader = 80;
constexpr double kLegend = 34;
constexpr double kMargin = 12;
constexpr double kWidestCell = 170;
constexpr double kHighestCell = 64;
constexpr double kThinnestCell = 2;
constexpr double kTextFrom = 11;  // px of a cell

struct MeasureFacts {
  Tone tone;
  const char* title;
  const char* meaning;
};

const MeasureFacts& about(BucketMeasure measure) {
  static constexpr std::array<MeasureFacts, analysis::kBucketMeasures> kMeasures{
      {{Tone::kWait, "Arrival lateness",
        "How long after the first rank it came to the bucket's collective."},
       {Tone::kRebuild, "Wait for peers",
        "From its own arrival to the last rank's: it waits for others."},
       {Tone::kTransfer, "Transfer", "From the last rank's arrival to the end: bytes move."},
       {Tone::kBackward, "Exposed",
        "In flight while this rank computed nothing: it costs step time."}}};
  return kMeasures[static_cast<std::size_t>(measure)];
}

// The layout after the last rebuild: medians are mostly of it.
const trace::BucketsMessage* lastLayout(const DivergenceFacts& facts) {
  const trace::BucketsMessage* last = nullptr;
  for (const trace::BucketsMessage& layout : facts.data().layouts) {
    last = last == nullptr || layout.step >= last->step ? &layout : last;
  }
  return last;
}

}  // namespace

QString titleOf(BucketMeasure measure) {
  return QString::fromLatin1(about(measure).title);
}

QString meaningOf(BucketMeasure measure) {
  return QString::fromLatin1(about(measure).meaning);
}

std::optional<double> valueOf(const analysis::BucketCell& cell, BucketMeasure measure,
                              std::optional<std::uint32_t> step) {
  if (!step) {
    return cell.medianMs[static_cast<std::size_t>(measure)];
  }
  const analysis::BucketSample* sample = cell.at(*step);
  return sample == nullptr ? std::nullopt : sample->of(measure);
}

const analysis::BucketSample* sampleOf(const analysis::BucketCell& cell, BucketMeasure measure,
                                       std::optional<std::uint32_t> step) {
  if (step) {
    return cell.at(*step);
  }
  const auto worst = cell.worst[static_cast<std::size_t>(measure)];
  return worst ? &cell.samples[*worst] : nullptr;
}

BucketScene::BucketScene(const DivergenceFacts& facts, const Palette& palette, BucketFrame frame)
    : facts_(facts), palette_(palette), frame_(std::move(frame)) {}

// Cells are no larger than can be compared at a glance, however few there are.
QRectF BucketScene::rectOf(const BucketPlace& place) const {
  const double room = frame_.size.width() - kGutter - kMargin;
  const double width = std::min(kWidestCell, room / std::max(1, facts_.delays.buckets));
  const double down = frame_.size.height() - kHeader - kLegend;
  const double height = std::min(
      kHighestCell, down / std::max<double>(1, static_cast<double>(facts_.delays.ranks.size())));
  return {kGutter + width * place.bucket, kHeader + height * static_cast<double>(place.row), width,
          height};
}

std::optional<BucketPlace> BucketScene::placeAt(QPointF position) const {
  const QRectF origin = rectOf({0, 0});
  const double column = (position.x() - origin.left()) / origin.width();
  const double row = (position.y() - origin.top()) / origin.height();
  if (column < 0 || row < 0 || column >= facts_.delays.buckets ||
      row >= static_cast<double>(facts_.delays.ranks.size())) {
    return std::nullopt;
  }
  return BucketPlace{static_cast<std::size_t>(row), static_cast<int>(column)};
}

void BucketScene::draw(DisplayList& list) const {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  if (facts_.delays.empty()) {
    drawMessage(list, QRectF(QPointF(0, 0), frame_.size),
                QStringLiteral("No bucket was communicated"),
                QStringLiteral("Rank by bucket appears with the first gradient bucket that the "
                               "ranks exchange."),
                palette_.text, palette_);
    return;
  }
  // One scale for all cells, of what is shown now: another iteration has another one.
  double most = 0;
  for (const analysis::BucketCell& cell : facts_.delays.cells) {
    most = std::max(most, valueOf(cell, frame_.measure, frame_.step).value_or(0));
  }
  drawCells(list, most);
  drawLabels(list);
  drawLargest(list, most);
  drawLegend(list, most);
  if (frame_.selected) {
    const QRectF rect = rectOf(*frame_.selected);
    list.outline(rect.adjusted(0, 0, -1, -1), palette_.accent, 3);
    list.outline(rect.adjusted(1, 1, -2, -2), palette_.accent, 3);
  }
  if (frame_.pointer) {
    if (const auto place = placeAt(*frame_.pointer)) {
      list.outline(rectOf(*place).adjusted(0, 0, -1, -1), palette_.hover, 2);
      drawFactCard(list, frame_.size, *frame_.pointer,
                   QStringLiteral("rank %1, bucket %2")
                       .arg(facts_.delays.ranks[place->row])
                       .arg(place->bucket),
                   {}, factsOf(facts_, frame_, *place), palette_);
    }
  }
}

// Of so many ranks that a row is no pixel high, neighbours share a cell, which shows the largest of
// them: a mean would hide the one that is looked for.
void BucketScene::drawCells(DisplayList& list, double most) const {
  const std::size_t rows = facts_.delays.ranks.size();
  const auto shared =
      static_cast<std::size_t>(std::max(1.0, std::ceil(kThinnestCell / rectOf({0, 0}).height())));
  for (std::size_t row = 0; row < rows; row += shared) {
    const std::size_t last = std::min(rows, row + shared) - 1;
    for (int bucket = 0; bucket < facts_.delays.buckets; ++bucket) {
      const auto valueIn = [&](std::size_t of) {
        return valueOf(facts_.delays.cell(of, bucket), frame_.measure, frame_.step);
      };
      std::size_t largest = row;
      for (std::size_t of = row + 1; of <= last; ++of) {
        largest = valueIn(of) > valueIn(largest) ? of : largest;
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
  for (std::size_t row = 0; row < facts_.delays.ranks.size(); ++row) {
    for (int bucket = 0; bucket < facts_.delays.buckets; ++bucket) {
      if (valueOf(facts_.delays.cell(row, bucket), frame_.measure, frame_.step) != most) {
        continue;
      }
      const QRectF rect = rectOf({row, bucket});
      const QString text =
          QStringLiteral("rank %1 · %2").arg(facts_.delays.ranks[row]).arg(formatMs(most));
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
  const auto value =
      valueOf(facts_.delays.cell(place.row, place.bucket), frame_.measure, frame_.step);
  if (!value) {
    list.fill(rect, palette_.surface, gap);
    list.hatch(rect, palette_.grid);
    if (full.height() >= kTextFrom) {
      list.note(rect, QStringLiteral("unknown"), palette_, Qt::AlignCenter);
    }
    return;
  }
  const double part = most > 0 ? *value / most : 0;
  // Never quite the background, so that a cell of 0 is seen as one.
  const QColor fill =
      mixed(palette_.tone(about(frame_.measure).tone), palette_.background, 0.08 + 0.87 * part);
  list.fill(rect, fill, gap);
  if (full.height() < kTextFrom) {
    return;
  }
  // All that are as large: there may be several.
  const bool largest = most > 0 && *value == most;
  if (largest) {
    list.outline(rect, palette_.text, gap);
    list.outline(rect.adjusted(1, 1, -1, -1), palette_.text, gap);
  }
  list.text(rect.adjusted(2, 0, -2, 0), formatMs(*value), Palette::textOn(fill),
            largest ? FontRole::kBold : FontRole::kSmall, Qt::AlignCenter);
}

void BucketScene::drawLabels(DisplayList& list) const {
  const QString scope = frame_.step
                            ? QStringLiteral("Of iteration %1").arg(formatCount(*frame_.step))
                            : QStringLiteral("The median of the measured iterations, from %1 on")
                                  .arg(facts_.run->analysis.warmUp.firstMeasured);
  const QString title = titleOf(frame_.measure) + QStringLiteral(" by rank and bucket");
  const double width = textWidth(title, FontRole::kBold) + 8;
  list.title(QRectF(kMargin, 4, width, 22), title, palette_);
  list.note(QRectF(kMargin, 22, frame_.size.width() - 2 * kMargin, 18),
            scope + QStringLiteral(". ") + meaningOf(frame_.measure), palette_);
  const trace::BucketsMessage* layout = lastLayout(facts_);
  const double cell = rectOf({0, 0}).width();
  // As many numbers as 24 px apiece leave room for.
  const int stride = std::max(1, static_cast<int>(std::ceil(24 / cell)));
  const auto centred = Qt::AlignCenter;
  for (int bucket = 0; bucket < facts_.delays.buckets; bucket += stride) {
    const QRectF rect = rectOf({0, bucket});
    const double room = rect.width() * stride;
    const bool wide = room >= 84;
    list.label(QRectF(rect.left(), 43, room, 18),
               wide ? QStringLiteral("bucket %1").arg(bucket) : QString::number(bucket), palette_,
               centred);
    if (layout != nullptr && static_cast<std::size_t>(bucket) < layout->buckets.size() &&
        room >= 56) {
      list.note(QRectF(rect.left(), 60, room, 16),
                formatBytes(layout->buckets[static_cast<std::size_t>(bucket)].bytes), palette_,
                centred);
    }
  }
  const double height = rectOf({0, 0}).height();
  const auto rowStride = static_cast<std::size_t>(std::max(1.0, std::ceil(12 / height)));
  for (std::size_t row = 0; row < facts_.delays.ranks.size(); row += rowStride) {
    const QRectF rect = rectOf({row, 0});
    const int rank = facts_.delays.ranks[row];
    // A label may be higher than its row, where rows are low: it begins at the same height.
    const double middle = rect.top() + std::max(rect.height(), 12.0) / 2;
    list.fill(QRectF(kMargin, middle - 5, 4, 10), palette_.rank(rank), 1);
    list.label(QRectF(kMargin + 9, middle - 9, kGutter - kMargin - 12, 18),
               QStringLiteral("rank %1").arg(rank), palette_);
  }
}

void BucketScene::drawLegend(DisplayList& list, double most) const {
  const double bottom = rectOf({facts_.delays.ranks.size() - 1, 0}).bottom();
  const QRectF bar(kGutter, bottom + 12, 160, 10);
  constexpr int kPieces = 16;
  for (int i = 0; i < kPieces; ++i) {
    const double part = (i + 0.5) / kPieces;
    list.fill(
        QRectF(bar.left() + bar.width() / kPieces * i, bar.top(), bar.width() / kPieces,
               bar.height()),
        mixed(palette_.tone(about(frame_.measure).tone), palette_.background, 0.08 + 0.87 * part));
  }
  list.note(QRectF(kMargin, bar.top() - 4, kGutter - kMargin - 8, 18), QStringLiteral("0"),
            palette_, kToTheRight);
  list.note(QRectF(bar.right() + 8, bar.top() - 4, 360, 18),
            formatMs(most) + QStringLiteral("  (the largest is outlined; hatched: unknown)"),
            palette_);
}

std::vector<Fact> factsOf(const DivergenceFacts& facts, const BucketFrame& frame,
                          const BucketPlace& place) {
  const analysis::BucketCell& cell = facts.delays.cell(place.row, place.bucket);
  Facts lines;
  lines.add("Shown", frame.step ? QStringLiteral("iteration %1").arg(formatCount(*frame.step))
                                : QStringLiteral("median of %1 measured iterations")
                                      .arg(formatCount(cell.measuredSteps)));
  for (std::size_t i = 0; i < analysis::kBucketMeasures; ++i) {
    const auto measure = static_cast<BucketMeasure>(i);
    const auto value = valueOf(cell, measure, frame.step);
    lines.push_back({titleOf(measure), value ? formatMs(*value) : QStringLiteral("unknown")});
  }
  // Medians have no span that a click could select, so the card names the iteration that it does.
  const analysis::BucketSample* sample = sampleOf(cell, frame.measure, frame.step);
  if (sample != nullptr && !frame.step) {
    lines.add("Worst", QStringLiteral("%1 in iteration %2; a click selects it")
                           .arg(formatMs(sample->of(frame.measure).value_or(0)))
                           .arg(formatCount(sample->step)));
  }
  lines.add("Meaning", meaningOf(frame.measure));
  return lines;
}

}  // namespace lockstep::ui
