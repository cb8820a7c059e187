#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/SpanStyle.h"
#include "ui/views/timeline/TimelineScene.h"

// The parts of the scene that lie on top: selection, ribbon, measuring band, tooltip; and the
// legend of pictures.
namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

QColor withAlpha(QColor colour, float alpha) {
  colour.setAlphaF(alpha);
  return colour;
}

// Sentences in lines that fit a narrow window; a line that goes on has no name.
std::vector<Fact> inLines(const std::vector<Fact>& facts) {
  constexpr double kWidest = 300;
  std::vector<Fact> lines;
  for (const Fact& fact : facts) {
    QString name = fact.name;
    QString line;
    for (const QString& word : fact.value.split(QLatin1Char(' '))) {
      const QString longer = line.isEmpty() ? word : line + QLatin1Char(' ') + word;
      if (!line.isEmpty() && textWidth(longer, FontRole::kSmall) > kWidest) {
        lines.push_back({std::exchange(name, QString()), line});
        line = word;
      } else {
        line = longer;
      }
    }
    lines.push_back({name, line});
  }
  return lines;
}

void plate(DisplayList& list, const QRectF& rect, const QString& text, const QColor& fill) {
  list.fill(rect, fill, 3);
  list.text(rect, text, Palette::textOn(fill), FontRole::kSmall,
            Qt::AlignHCenter | Qt::AlignVCenter);
}

}  // namespace

void TimelineScene::drawSelection(DisplayList& list) const {
  if (frame_.hovered) {
    if (const auto rect = rectOf(*frame_.hovered)) {
      list.outline(rect->adjusted(-1, -1, 0, 1), palette_.hover, 2);
    }
  }
  if (frame_.selection) {
    if (const auto rect = rectOf(*frame_.selection)) {
      list.outline(rect->adjusted(-1, -1, 0, 1), palette_.accent, 2);
      list.outline(rect->adjusted(-2, -2, 1, 2), palette_.accent, 3);
    }
  }
}

// Joins one collective across the ranks, and says who came late.
void TimelineScene::drawRibbon(DisplayList& list) const {
  if (!frame_.selection) {
    return;
  }
  const Arrivals arrivals = arrivalsOf(model_, *frame_.selection);
  if (arrivals.byRank.size() < 2) {
    return;
  }
  std::optional<QRectF> above;
  for (const Span& span : arrivals.byRank) {
    const auto row = layout_.find(span.lane, span.row);
    if (!row) {
      continue;
    }
    const QRectF bar = barRect(axis_.toX(span.startNs), axis_.toX(span.endNs()), *row);
    if (above) {
      list.polygon({above->bottomLeft(), above->bottomRight(), bar.topRight(), bar.topLeft()},
                   withAlpha(palette_.accent, 0.14f));
      list.line(above->bottomLeft(), bar.topLeft(), withAlpha(palette_.accent, 0.6f));
      list.line(above->bottomRight(), bar.topRight(), withAlpha(palette_.accent, 0.6f));
    }
    list.outline(bar.adjusted(-1, -1, 0, 1), withAlpha(palette_.accent, 0.7f), 2);
    if (span.rank() == arrivals.lateRank && arrivals.waitNs > 0) {
      const double x = bar.left();
      const double y = bar.bottom() + 2;
      list.polygon({{x, y}, {x + 5, y + 8}, {x - 5, y + 8}}, palette_.warning);
      const QString text = QStringLiteral("rank %1 last, %2 late")
                               .arg(arrivals.lateRank)
                               .arg(formatDuration(arrivals.waitNs));
      const double width = textWidth(text, FontRole::kSmall) + 12;
      const double left = std::clamp(x + 8, axis_.left(), std::max(axis_.left(),
                                                                   axis_.right() - width));
      plate(list, QRectF(left, y, width, 16), text, palette_.warning);
    }
    above = bar;
  }
}

void TimelineScene::drawMeasure(DisplayList& list) const {
  if (!frame_.measured || frame_.measured->empty()) {
    return;
  }
  const double left = std::clamp(axis_.toX(frame_.measured->startNs), axis_.left(), axis_.right());
  const double right = std::clamp(axis_.toX(frame_.measured->endNs), axis_.left(), axis_.right());
  const QRectF band(left, kRulerHeight, right - left, frame_.size.height() - kRulerHeight);
  list.fill(band, withAlpha(palette_.measure, 0.13f));
  list.fill(QRectF(left, kRulerHeight, 1, band.height()), palette_.measure);
  list.fill(QRectF(right, kRulerHeight, 1, band.height()), palette_.measure);
  const QString text = formatDuration(frame_.measured->lengthNs());
  const double width = textWidth(text, FontRole::kBold) + 16;
  const double x = std::clamp(band.center().x() - width / 2, axis_.left(),
                              std::max(axis_.left(), axis_.right() - width));
  const QRectF label(x, kRulerHeight + 4, width, 20);
  list.fill(label, palette_.measure, 4);
  list.text(label, text, Palette::textOn(palette_.measure), FontRole::kBold,
            Qt::AlignHCenter | Qt::AlignVCenter);
}

void TimelineScene::drawPointer(DisplayList& list) const {
  if (!frame_.pointer || frame_.pointer->x() < axis_.left() || frame_.measured) {
    return;
  }
  const double x = std::round(frame_.pointer->x());
  list.fill(QRectF(x, kRulerHeight, 1, frame_.size.height() - kRulerHeight),
            withAlpha(palette_.textMuted, 0.35f));
  // One more digit than the labels of the grid.
  const QString text = timeLabel(axis_.toNs(x), axis_.labelStepNs(labelDistance()) / 100);
  const double width = textWidth(text, FontRole::kSmall) + 10;
  const double left = std::clamp(x - width / 2, axis_.left(),
                                 std::max(axis_.left(), axis_.right() - width));
  plate(list, QRectF(left, kIterationHeight + 1, width, 16), text, palette_.textMuted);
}

void TimelineScene::drawTooltip(DisplayList& list) const {
  if (!frame_.pointer || !frame_.hovered) {
    return;
  }
  const QString title = titleOf(model_, *frame_.hovered);
  const std::vector<Fact> facts = inLines(factsOf(model_, *frame_.hovered));
  constexpr double kPadding = 9;
  constexpr double kLine = 17;
  constexpr double kTitle = 24;
  double names = 0;
  double values = 0;
  for (const Fact& fact : facts) {
    names = std::max(names, textWidth(fact.name, FontRole::kSmall));
    values = std::max(values, textWidth(fact.value, FontRole::kSmall));
  }
  const double inner =
      std::max(names + 14 + values, textWidth(title, FontRole::kBold) + 18) + 2;
  const QSizeF size(inner + 2 * kPadding,
                    kTitle + kLine * static_cast<double>(facts.size()) + kPadding);
  // Beside the pointer, on whichever side there is room.
  QPointF at = *frame_.pointer + QPointF(16, 18);
  if (at.x() + size.width() > frame_.size.width() - 4) {
    at.setX(frame_.pointer->x() - size.width() - 12);
  }
  if (at.y() + size.height() > frame_.size.height() - 4) {
    at.setY(frame_.pointer->y() - size.height() - 12);
  }
  at = QPointF(std::max(4.0, std::round(at.x())), std::max(4.0, std::round(at.y())));
  const QRectF card(at, size);
  list.fill(card.translated(0, 2).adjusted(-1, -1, 1, 2), withAlpha(Qt::black, 0.18f), 6);
  list.fill(card, palette_.surface, 5);
  list.outline(card, palette_.gridStrong, 5);
  const QColor chip = colourOf(*frame_.hovered, frame_.colourBy, palette_);
  list.fill(QRectF(card.left() + kPadding, card.top() + 8, 10, 10), chip, 2);
  list.text(QRectF(card.left() + kPadding + 16, card.top() + 2, inner - 16, kTitle - 2), title,
            palette_.text, FontRole::kBold);
  double y = card.top() + kTitle;
  for (const Fact& fact : facts) {
    list.text(QRectF(card.left() + kPadding, y, names + 1, kLine), fact.name, palette_.textMuted,
              FontRole::kSmall);
    list.text(QRectF(card.left() + kPadding + names + 14, y, values + 2, kLine), fact.value,
              palette_.text, FontRole::kSmall);
    y += kLine;
  }
}

double TimelineScene::drawLegend(DisplayList& list, const QRectF& rect, const Palette& palette,
                                 const RunModel& model) {
  using trace::EventKind;
  struct Entry {
    Tone tone;
    const char* text;
    bool hatched;
    std::initializer_list<EventKind> kinds;  // shown when the run holds one of them
  };
  // What is rare comes first: a picture without room for all says what its reader cannot guess.
  const std::array<Entry, 15> kEntries{{
      {Tone::kFault, "fault", true, {EventKind::kFault}},
      {Tone::kShadow, "out of inputs", true, {EventKind::kJoinShadow}},
      {Tone::kRebuild, "unused parameters", false, {EventKind::kSearchUnused}},
      {Tone::kData, "data", false, {EventKind::kData}},
      {Tone::kForward, "forward", false, {EventKind::kForward}},
      {Tone::kBackward, "backward", false, {EventKind::kBackward}},
      {Tone::kOptimizer, "optimizer", false, {EventKind::kOptimizer, EventKind::kBucketOptimizer}},
      {Tone::kCopy, "copy in / out", false, {EventKind::kCopyIn, EventKind::kCopyOut}},
      {Tone::kWait, "wait for a bucket", true, {EventKind::kWait}},
      {Tone::kEncode, "hook encode", false, {EventKind::kHookEncode}},
      {Tone::kDecode, "hook decode", false, {EventKind::kHookDecode}},
      {Tone::kTransfer, "transfer", false, {EventKind::kCollective, EventKind::kReplicate}},
      {Tone::kTransfer, "waits for a late rank", true, {EventKind::kCollective, EventKind::kChecked}},
      {Tone::kLink, "modelled link", false, {EventKind::kShaped}},
      {Tone::kCheck, "check", false, {EventKind::kChecked}},
  }};
  double x = rect.left();
  for (const Entry& entry : kEntries) {
    if (std::none_of(entry.kinds.begin(), entry.kinds.end(),
                     [&](EventKind kind) { return model.holds(kind); })) {
      continue;
    }
    const QString text = QString::fromLatin1(entry.text);
    const double width = textWidth(text, FontRole::kSmall);
    if (x + 18 + width > rect.right()) {
      break;
    }
    const QRectF chip(x, rect.center().y() - 6, 12, 12);
    const QColor colour = palette.tone(entry.tone);
    const bool late = entry.hatched && entry.tone == Tone::kTransfer;
    list.fill(chip, late ? withAlpha(colour, 0.3f) : colour, 2);
    if (entry.hatched) {
      list.hatch(chip, late                         ? colour
                       : entry.tone == Tone::kFault ? Palette::textOn(colour)
                                                    : withAlpha(palette.background, 0.5f));
    }
    list.text(QRectF(x + 17, rect.top(), width + 2, rect.height()), text, palette.textMuted,
              FontRole::kSmall);
    x += 17 + width + 16;
  }
  return x - rect.left();
}

}  // namespace lockstep::ui
