#include "ui/views/buckets/BucketsScene.h"

#include <algorithm>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/Plate.h"
#include "ui/chart/Ticks.h"
#include "ui/model/Format.h"
#include "ui/views/buckets/BucketFacts.h"

// The frame as a whole: header, ruler, legend, replay line.
namespace lockstep::ui {
namespace {

using namespace buckets_metrics;

}  // namespace

BucketsScene::BucketsScene(const BucketStory& story, const Palette& palette,
                           const BucketsFrame& frame)
    : story_(story),
      palette_(palette),
      frame_(frame),
      layout_(story, frame.size, frame.shown, frame.rowScroll, frame.orderScroll) {}

std::uint64_t BucketsScene::nowTicks() const {
  // Without a replay everything is past (Note [The replay]).
  return frame_.replayNs ? story_.ticksAt(*frame_.replayNs) : UINT64_MAX;
}

QColor BucketsScene::bucketColour(int bucket) const {
  return bucket < 0 ? palette_.tone(Tone::kNeutral) : palette_.bucket(bucket);
}

void BucketsScene::draw(DisplayList& list) const {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  const QRectF rows = layout_.rowsArea();
  list.clip(rows);
  for (int bucket = 0; bucket < static_cast<int>(story_.layout.buckets.size()); ++bucket) {
    const QRectF row = layout_.row(bucket);
    if (row.bottom() >= rows.top() && row.top() <= rows.bottom()) {
      drawRow(list, bucket);
    }
  }
  if (story_.measured()) {
    drawComputed(list);
    drawStalls(list);
  }
  list.unclip();
  drawScroll(list, rows, frame_.rowScroll, layout_.maximumRowScroll());
  if (layout_.hasOrder()) {
    drawOrder(list);
  }
  // After the rows and the order: they scroll under it.
  drawHeader(list);
  drawReplay(list);
  if (frame_.pointer) {
    if (const auto card = describeHit(story_, frame_.hovered)) {
      drawFactCard(list, frame_.size, *frame_.pointer, card->title,
                   card->bucket < 0 ? palette_.tone(Tone::kNeutral) : palette_.bucket(card->bucket),
                   card->facts, palette_);
    }
  }
}

void BucketsScene::drawHeader(DisplayList& list) const {
  const QRectF header(0, 0, frame_.size.width(), kHeader);
  list.fill(header, palette_.surface);
  list.fill(QRectF(0, kHeader - 1, header.width(), 1), palette_.gridStrong);
  const QString what = QStringLiteral("%1, %2").arg(
      formatCounted(story_.layout.buckets.size(), "bucket"), formatBytes(story_.bytes()));
  const QString built = story_.layout.layout > 0 ? QStringLiteral(", rebuilt from the ready order")
                                                 : QStringLiteral(", as constructed");
  QString whose;
  if (story_.ranksOfRun > 0) {
    whose = story_.examples
                ? QStringLiteral("; first, middle and last of %1 ranks").arg(story_.ranksOfRun)
                : QStringLiteral("; %1 of %2 ranks").arg(story_.rankCount()).arg(story_.ranksOfRun);
  }
  const double right = story_.measured() ? layout_.timesColumn().left() - layout_.rankGutter() - 8
                                         : header.width() - 8;
  // Of many ranks it must be said which these are; how the buckets came about, the bar above says.
  const bool fits = textWidth(what + built + whose, FontRole::kBold) <= right - 8;
  list.title(QRectF(8, 2, right - 8, 20),
             fits || whose.isEmpty() ? what + built + whose : what + whose, palette_);
  drawLegend(list, QRectF(8, 22, right - 8, 20));
  if (story_.measured()) {
    drawTimes(list);
  } else if (!story_.preview) {
    list.note(QRectF(layout_.mapColumn().left(), 22, layout_.mapColumn().width(), 20),
              QStringLiteral("No events of iteration %1 were recorded").arg(story_.step), palette_,
              kToTheRight);
  }
}

void BucketsScene::drawLegend(DisplayList& list, QRectF rect) const {
  double x = rect.left();
  const auto entry = [&](const QString& text, auto drawMark) {
    const double width = textWidth(text, FontRole::kSmall);
    if (x + 16 + width > rect.right()) {
      return;
    }
    drawMark(QRectF(x, rect.center().y() - 5, 10, 10));
    list.note(QRectF(x + 14, rect.top(), width + 2, rect.height()), text, palette_);
    x += 14 + width + 12;
  };
  entry(QStringLiteral("parameter, by bytes"),
        [&](const QRectF& chip) { list.fill(chip, palette_.bucket(0), 2); });
  const bool capped =
      std::any_of(story_.caps.begin(), story_.caps.end(),
                  [](const analysis::BucketCap& cap) { return cap.limitBytes > 0; });
  if (capped) {
    entry(QStringLiteral("cap"), [&](const QRectF& chip) {
      list.fill(QRectF(chip.center().x() - 1, chip.top() - 2, 2, chip.height() + 4), palette_.text);
    });
    entry(QStringLiteral("over the cap"), [&](const QRectF& chip) {
      list.fill(chip, withAlpha(palette_.bucket(0), 0.45f), 2);
      list.hatch(chip, palette_.text);
    });
  }
  if (story_.preview) {
    entry(QStringLiteral("preview from shapes: gradients are taken to come in the reverse of the "
                         "registration"),
          [&](const QRectF& chip) { list.outline(chip, palette_.textMuted, 2); });
  }
}

void BucketsScene::drawTimes(DisplayList& list) const {
  const QRectF column = layout_.timesColumn();
  const TimeAxis& axis = layout_.axis();
  const double left = column.left() - layout_.rankGutter();
  list.fill(QRectF(left, 0, 1, frame_.size.height()), palette_.gridStrong);
  QString iteration = QStringLiteral("Iteration %1").arg(story_.step);
  iteration += story_.finished ? QString() : QStringLiteral(" (not ended)");
  QString title = iteration + QStringLiteral(": ms since its start");
  const auto beside = [&] {
    const double x = left + 8 + textWidth(title, FontRole::kBold) + 18;
    return QRectF(x, 2, column.right() - x, 20);
  };
  // What the bars mean is needed more than where their time begins, and in which unit it is.
  for (const QString& shorter :
       {iteration + QStringLiteral(", ms"), QStringLiteral("it %1").arg(story_.step)}) {
    if (legendHeight(timesLegend(), beside().width()) > legendHeight({}, beside().width())) {
      title = shorter;
    }
  }
  list.title(QRectF(left + 8, 2, column.right() - left - 12, 20), title, palette_);
  drawTimesLegend(list, beside());
  list.clip(QRectF(left, 0, frame_.size.width() - left, frame_.size.height()));
  const double step = axis.labelStepNs(70);
  const QString unit = title.contains(QLatin1String("ms")) ? QString() : QStringLiteral(" ms");
  std::vector<AxisWords> times;
  for (const TimeAxis::Tick& tick : axis.ticks(70)) {
    list.fill(QRectF(tick.x, kHeader - (tick.major ? 8 : 4), 1, tick.major ? 8 : 4),
              palette_.gridStrong);
    if (tick.major && tick.x < column.right() - 20) {
      const QString text = tickText(tick.ns / 1e6, step / 1e6) + unit;
      times.push_back({QRectF(tick.x + 3, 22, textWidth(text, FontRole::kSmall) + 2, 18), text});
    }
  }
  const Plate computed = computedPlate(times);
  for (const AxisWords& words : times) {
    if (!words.rect.intersects(computed.rect)) {
      list.note(words.rect, words.text, palette_);
    }
  }
  list.unclip();
  if (!computed.text.isEmpty()) {
    drawPlate(list, computed.rect, computed.text, palette_.tone(Tone::kBackward));
  }
}

void BucketsScene::drawReplay(DisplayList& list) const {
  if (!frame_.replayNs || !story_.measured()) {
    return;
  }
  const QRectF column = layout_.timesColumn();
  const double x = layout_.axis().toX(*frame_.replayNs);
  if (x < column.left() - 1 || x > frame_.size.width()) {
    return;
  }
  list.line({x, kHeader - 10}, {x, frame_.size.height()}, palette_.accent, 1.5);
  list.polygon({{x - 6, kHeader - 12}, {x + 6, kHeader - 12}, {x, kHeader - 3}}, palette_.accent);
  const QString text = momentText(*frame_.replayNs);
  const double width = textWidth(text, FontRole::kSmall) + 8;
  // Under its line, moved in at the edges of the column.
  const QRectF plate(std::max(column.left(), std::min(x - width / 2, column.right() - width)), 20,
                     width, 14);
  drawPlate(list, plate, text, palette_.accent);
}

void BucketsScene::drawScroll(DisplayList& list, const QRectF& area, double scroll,
                              double maximum) const {
  if (maximum <= 0 || area.height() <= 0) {
    return;
  }
  const double whole = area.height() + maximum;
  const double length = std::max(16.0, area.height() * area.height() / whole);
  const double top = area.top() + std::clamp(scroll / maximum, 0.0, 1.0) * (area.height() - length);
  list.fill(QRectF(area.right() - 5, top, 4, length), withAlpha(palette_.textMuted, 0.6f), 2);
}

QString fittingName(const QString& name, double width) {
  // From the whole name to its last three parts, two and one.
  QString best = name;
  for (int parts = 3; parts >= 1 && textWidth(best, FontRole::kSmall) > width; --parts) {
    best = name.section(QLatin1Char('.'), -parts);
  }
  return best;
}

}  // namespace lockstep::ui
