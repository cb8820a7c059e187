#include "ui/views/timeline/layers/SpanBars.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/chart/FlightBar.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/LevelOfDetail.h"
#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr double kTextRoom = 12;    // narrower bars carry no text
constexpr double kRoundedFrom = 8;  // px of width
constexpr float kDimmed = 0.7f;     // of what is not searched for

}  // namespace

bool SpanBars::drawBar(DisplayList& list, const Span& span, const QRectF& bar) const {
  const bool told = drawBarItself(list, span, bar);
  if (frame_.found != nullptr && frame_.found->query().valid() &&
      !frame_.found->query().matches(model_, span)) {
    list.fill(bar, withAlpha(palette_.background, kDimmed));
    return true;
  }
  return told;
}

// In the lanes of buckets' transfers: elsewhere the phases say what it is, or a bucket's mark.
void SpanBars::drawBeside(DisplayList& list, const Span& span, const QRectF& bar,
                          double roomRight) const {
  const bool transfers = span.role() == LaneRole::kHook || span.role() == LaneRole::kCommunication;
  if (transfers && span.hasBucket()) {
    noteBeside(list, bar, roomRight, {QStringLiteral("b%1").arg(span.bucket)});
  }
}

bool SpanBars::drawBarItself(DisplayList& list, const Span& span, const QRectF& bar) const {
  const bool wide = bar.width() > kFoldPixels;
  if (wide && (span.kind == EventKind::kCollective || span.kind == EventKind::kChecked)) {
    return drawCollective(list, span, bar);
  }
  const QColor fill = colourOf(span, frame_.colourBy, palette_);
  // A pixel between neighbours tells two bars from one.
  const QRectF body = wide ? bar.adjusted(0, 0, -1, 0) : bar;
  if (span.kind == EventKind::kOffCore) {
    return drawCoreWait(list, span, body);
  }
  list.fill(body, fill, body.width() > kRoundedFrom ? 2 : 0);
  const bool fault = span.kind == EventKind::kFault;
  if ((fault || run::has(span.kind, run::kWaits)) && body.width() > kFoldPixels) {
    list.hatch(body, fault ? Palette::textOn(fill) : mixed(fill, palette_.background, 0.55));
    return drawTextOnHatch(list, span, body, fill);
  }
  return drawText(list, span, body, fill);
}

// Nobody knows when in it the thread waited, only how long: filled from below, by the part that it
// waited.
bool SpanBars::drawCoreWait(DisplayList& list, const Span& span, const QRectF& body) const {
  const QColor own = colourOf(span, frame_.colourBy, palette_);
  const QColor pale = mixed(own, palette_.background, 0.15);
  // One ink for words that stand on both.
  const QColor strong =
      mixed(own, palette_.background, palette_.theme == Theme::kDark ? 0.35 : 0.7);
  const double high = std::max(1.0, std::round(body.height() * span.part()));
  list.fill(body, pale, body.width() > kRoundedFrom ? 2 : 0);
  list.fill(body.adjusted(0, body.height() - high, 0, 0), strong);
  return drawText(list, span, body, pale);
}

// A check has its wait and its comparison, as a collective has its wait and its transfer.
bool SpanBars::drawCollective(DisplayList& list, const Span& span, const QRectF& bar) const {
  const QColor fill = colourOf(span, frame_.colourBy, palette_);
  const QRectF body = bar.adjusted(0, 0, -1, 0);
  const Meeting* meeting = model_.meetingOf(span);
  const bool torn = meeting != nullptr && isTorn(model_, *meeting);
  const double lastNs = meeting != nullptr ? model_.toNs(meeting->lastStart) : span.startNs;
  // Below it nobody knows that this rank waited: the other is on a host with another clock.
  const auto doubtNs = static_cast<double>(
      meeting != nullptr ? model_.clockDoubt().betweenNs(span.rank(), meeting->lateRank) : 0);
  const double arrivedX = lastNs <= span.startNs + doubtNs
                              ? body.left()
                              : std::clamp(axis_.toX(lastNs), body.left(), body.right());
  const FlightBar drawn = drawFlightBar(list, body, arrivedX, torn, fill, palette_);
  // The text goes to the transfer unless the wait has much more room.
  const bool roomAfter =
      drawn.transfer.width() >= drawn.waiting.width() || drawn.transfer.width() > 90;
  if (torn) {
    return drawText(list, span, body, drawn.pale);
  }
  if (drawn.waiting.width() < 1) {
    return drawText(list, span, body, fill);
  }
  return roomAfter ? drawText(list, span, drawn.transfer, fill)
                   : drawTextOnHatch(list, span, drawn.waiting, drawn.pale);
}

// Words on a hatch need a quiet ground.
bool SpanBars::drawTextOnHatch(DisplayList& list, const Span& span, const QRectF& hatched,
                               const QColor& ground) const {
  if (hatched.height() < timeline_metrics::kWordsFrom) {
    return false;
  }
  const double pad = hatched.height() > timeline_metrics::kWordsFrom ? 2 : 0;
  const double left = std::max(hatched.left(), axis_.left()) + 3;
  const double room = std::min(hatched.right(), axis_.right()) - left - 3;
  QStringList labels = labelsOf(model_, span);
  labels.prepend(labels.front() + QStringLiteral("  ") + formatDuration(span.durationNs));
  for (const QString& label : labels) {
    const double width = textWidth(label, FontRole::kSmall) + 8;
    if (width <= room) {
      drawPlate(list, QRectF(left, hatched.top() + pad, width, hatched.height() - 2 * pad), label,
                ground, {.radius = 2});
      return true;
    }
  }
  return false;
}

bool SpanBars::drawText(DisplayList& list, const Span& span, const QRectF& bar,
                        const QColor& fill) const {
  // The text stays with the part of the bar that can be seen.
  const double left = std::max(bar.left(), axis_.left()) + 3;
  const double right = std::min(bar.right(), axis_.right()) - 2;
  const double room = right - left;
  if (room < kTextRoom || bar.height() < timeline_metrics::kWordsFrom) {
    return false;
  }
  const FontRole font = bar.height() > 20 ? FontRole::kNormal : FontRole::kSmall;
  const QStringList labels = labelsOf(model_, span);
  // The only form there is stands even where it is cut off; of several, only one that fits.
  QString label = labels.size() == 1 ? labels.front() : QString();
  double taken = 0;
  for (const QString& form : labels) {
    taken = textWidth(form, font);
    if (taken <= room) {
      label = form;
      break;
    }
  }
  if (label.isEmpty()) {
    return false;
  }
  const QColor ink = Palette::textOn(fill);
  list.text(QRectF(left, bar.top(), room, bar.height()), label, ink, font);
  const QString duration = formatDuration(span.durationNs);
  // The words of a wait for a core have durations of their own.
  if (span.kind != EventKind::kOffCore &&
      taken + textWidth(duration, FontRole::kSmall) + 14 < room) {
    list.text(QRectF(left + taken + 8, bar.top(), room - taken - 8, bar.height()), duration,
              mixed(ink, fill, 0.75), FontRole::kSmall);
  }
  return true;
}

void SpanBars::drawMark(DisplayList& list, const Span& span, double x, const QRectF& row,
                        double roomRight) const {
  const QColor colour = colourOf(span, frame_.colourBy, palette_);
  switch (span.kind) {
    case EventKind::kBucketReady:
    case EventKind::kBucketLaunched:
      drawBucketMark(list, span, x, row, roomRight);
      break;
    case EventKind::kMarkedUnused: {
      // Crossed out: a gradient that will not come.
      const QRectF cross(x - 3, row.bottom() - 7, 6, 6);
      list.line(cross.topLeft(), cross.bottomRight(), colour, 1.5);
      list.line(cross.bottomLeft(), cross.topRight(), colour, 1.5);
      break;
    }
    case EventKind::kFault:
      drawFault(list, span, x, row, roomRight);
      break;
    case EventKind::kCollectiveQueued:
      list.polygon({{x - 3, row.top() + 1}, {x + 3, row.top() + 1}, {x, row.bottom()}}, colour);
      break;
    default:
      list.fill(QRectF(x - 0.75, row.top() + row.height() * 0.15, 1.5, row.height() * 0.85),
                colour);
      break;
  }
}

// Ready: pointing down, open; launched: pointing to the right, full. In the colour of the bucket in
// either case, since a bucket is what they are about.
void SpanBars::drawBucketMark(DisplayList& list, const Span& span, double x, const QRectF& row,
                              double roomRight) const {
  const QColor own = palette_.bucket(span.bucket);
  const double h = row.height() - 1;
  if (span.kind == EventKind::kBucketReady) {
    list.polygon({{x - h / 2, row.top()}, {x + h / 2, row.top()}, {x, row.top() + h}},
                 mixed(own, palette_.background, 0.6));
    return;
  }
  list.polygon({{x, row.top()}, {x + h * 0.8, row.top() + h / 2}, {x, row.top() + h}}, own);
  const QString text = QStringLiteral("b%1").arg(span.bucket);
  const double width = textWidth(text, FontRole::kSmall);
  if (roomRight - x > width + h + 3) {
    list.note(QRectF(x + h, row.top() - 2, width + 2, row.height() + 3), text, palette_);
  }
}

void SpanBars::drawFault(DisplayList& list, const Span& span, double x, const QRectF& row,
                         double roomRight) const {
  const QColor colour = colourOf(span, frame_.colourBy, palette_);
  const double y = row.center().y();
  const double r = row.height() / 2;
  list.polygon({{x, y - r}, {x + r, y}, {x, y + r}, {x - r, y}}, Palette::textOn(colour));
  list.polygon({{x, y - r + 2}, {x + r - 2, y}, {x, y + r - 2}, {x - r + 2, y}}, colour);
  for (const QString& text : labelsOf(model_, span)) {
    const double width = textWidth(text, FontRole::kSmall) + 8;
    if (roomRight - x > width + r + 4) {
      const double high = std::max(row.height(), timeline_metrics::kWordsFrom);
      drawPlate(list, QRectF(x + r + 2, y - high / 2, width, high), text, colour, {.radius = 2});
      return;
    }
  }
}

void SpanBars::drawFold(DisplayList& list, const SpanFold& fold, const QRectF& row) const {
  QRectF bar(fold.left, row.top(), std::max(fold.right - fold.left, kFoldPixels), row.height());
  bar =
      bar.intersected(row.adjusted(-timeline_metrics::kOutside, 0, timeline_metrics::kOutside, 0));
  if (fold.instants) {
    // Marks stand on the row's lower edge; so do many of them.
    bar.setTop(bar.top() + row.height() * 0.35);
    list.fill(bar, mixed(fold.colour, palette_.background, 0.85));
    return;
  }
  const QColor fill = mixed(fold.colour, palette_.background, 0.7);
  list.fill(bar, fill);
  // A zigzag, so that a fold is not taken for one long span.
  constexpr double kZigzag = 4;
  if (bar.width() < 4 * kZigzag) {
    return;
  }
  const QString text = formatCount(fold.count) + QStringLiteral(" spans");
  const double width = textWidth(text, FontRole::kSmall) + 12;
  const bool withText = row.height() >= timeline_metrics::kWordsFrom && bar.width() > width + 12;
  if (withText) {
    list.text(bar, text, Palette::textOn(fill), FontRole::kSmall, Qt::AlignCenter);
  }
  const double middle = bar.center().y();
  const QColor line = mixed(Palette::textOn(fill), fill, 0.35);
  const double textLeft = withText ? bar.center().x() - width / 2 : bar.right();
  const double textRight = withText ? bar.center().x() + width / 2 : bar.right();
  for (const auto& [from, to] :
       {std::pair(bar.left(), textLeft), std::pair(textRight, bar.right())}) {
    std::vector<QPointF> zigzag;
    bool up = false;
    for (double x = from + kZigzag / 2; x < to; x += kZigzag, up = !up) {
      zigzag.emplace_back(x, up ? middle - 2 : middle + 2);
    }
    if (zigzag.size() > 1) {
      list.polyline(zigzag, line);
    }
  }
}

}  // namespace lockstep::ui
