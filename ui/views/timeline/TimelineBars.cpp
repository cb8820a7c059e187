#include <algorithm>
#include <cmath>

#include "engine/trace/Event.h"
#include "engine/run/KindFacts.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/SpanStyle.h"
#include "ui/views/timeline/TimelineScene.h"

// How single spans and instants look.
namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr double kTextRoom = 12;     // narrower bars carry no text
constexpr double kRoundedFrom = 8;   // px of width
constexpr float kDimmed = 0.7f;      // of what is not searched for

}  // namespace

void TimelineScene::drawBar(DisplayList& list, const Span& span, const QRectF& bar) const {
  drawBarItself(list, span, bar);
  if (frame_.found != nullptr && frame_.found->query().valid() &&
      !frame_.found->query().matches(model_, span)) {
    QColor veil = palette_.background;
    veil.setAlphaF(kDimmed);
    list.fill(bar, veil);
  }
}

void TimelineScene::drawBarItself(DisplayList& list, const Span& span, const QRectF& bar) const {
  const bool meets = span.kind == EventKind::kCollective || span.kind == EventKind::kChecked;
  if (meets && bar.width() > kFoldPixels) {
    drawCollective(list, span, bar);
    return;
  }
  const QColor fill = colourOf(span, frame_.colourBy, palette_);
  // A pixel between neighbours tells two bars from one.
  const QRectF body = bar.width() > kFoldPixels ? bar.adjusted(0, 0, -1, 0) : bar;
  list.fill(body, fill, body.width() > kRoundedFrom ? 2 : 0);
  if (span.kind == EventKind::kFault && body.width() > kFoldPixels) {
    list.hatch(body, Palette::textOn(fill));
    drawPlate(list, span, body, fill);
    return;
  }
  if (run::has(span.kind, run::kWaits) && body.width() > kFoldPixels) {
    list.hatch(body, mixed(fill, palette_.background, 0.55));
    drawPlate(list, span, body, fill);
    return;
  }
  drawBarText(list, span, body, fill);
}

// A collective is first waiting for the last rank (hatched), then transfer (solid), and so is a
// check with its comparison; pale in an outline where a rank has no record, so that nobody knows.
void TimelineScene::drawCollective(DisplayList& list, const Span& span, const QRectF& bar) const {
  const QColor fill = colourOf(span, frame_.colourBy, palette_);
  const QColor pale = mixed(fill, palette_.background, 0.3);
  const QRectF body = bar.adjusted(0, 0, -1, 0);
  const Meeting* meeting = model_.meetingOf(span);
  const bool torn = meeting != nullptr && meeting->count < membersOf(*meeting);
  const double lastNs = meeting != nullptr ? model_.toNs(meeting->lastStart) : span.startNs;
  // Below it nobody knows that this rank waited: the other is on a host with another clock.
  const auto doubtNs = static_cast<double>(
      meeting != nullptr ? model_.clockDoubt().betweenNs(span.rank(), meeting->lateRank) : 0);
  const double arrivedX = lastNs <= span.startNs + doubtNs
                              ? body.left()
                              : std::clamp(axis_.toX(lastNs), body.left(), body.right());
  const double radius = body.width() > kRoundedFrom ? 2 : 0;
  if (torn) {
    list.fill(body, pale, radius);
    list.outline(body, fill, radius);
    drawBarText(list, span, body, pale);
    return;
  }
  if (arrivedX - body.left() < 1) {
    list.fill(body, fill, radius);
    drawBarText(list, span, body, fill);
    return;
  }
  const QRectF waiting(body.left(), body.top(), arrivedX - body.left(), body.height());
  const QRectF transfer(arrivedX, body.top(), body.right() - arrivedX, body.height());
  list.fill(body, pale, radius);
  list.hatch(waiting, mixed(fill, palette_.background, 0.75));
  list.fill(transfer, fill, transfer.width() > kRoundedFrom ? 2 : 0);
  const bool roomBehind = transfer.width() >= waiting.width() || transfer.width() > 90;
  if (roomBehind) {
    drawBarText(list, span, transfer, fill);
    return;
  }
  drawPlate(list, span, waiting, pale);
}

// Words on a hatch need a quiet ground.
void TimelineScene::drawPlate(DisplayList& list, const Span& span, const QRectF& hatched,
                              const QColor& ground) const {
  const double left = std::max(hatched.left(), axis_.left()) + 3;
  const double room = std::min(hatched.right(), axis_.right()) - left - 3;
  QStringList labels = labelsOf(model_, span);
  labels.prepend(labels.front() + QStringLiteral("  ") + formatDuration(span.durationNs));
  for (const QString& label : labels) {
    const double width = textWidth(label, FontRole::kSmall) + 8;
    if (width <= room) {
      const QRectF plate(left, hatched.top() + 2, width, hatched.height() - 4);
      list.fill(plate, ground, 2);
      list.text(plate, label, Palette::textOn(ground), FontRole::kSmall,
                Qt::AlignHCenter | Qt::AlignVCenter);
      return;
    }
  }
}

void TimelineScene::drawBarText(DisplayList& list, const Span& span, const QRectF& bar,
                                const QColor& fill) const {
  // The text stays with the part of the bar that can be seen.
  const double left = std::max(bar.left(), axis_.left()) + 3;
  const double right = std::min(bar.right(), axis_.right()) - 2;
  const double room = right - left;
  if (room < kTextRoom || bar.height() < 14) {
    return;
  }
  const FontRole font = bar.height() > 20 ? FontRole::kNormal : FontRole::kSmall;
  const QStringList labels = labelsOf(model_, span);
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
    return;
  }
  const QColor ink = Palette::textOn(fill);
  list.text(QRectF(left, bar.top(), room, bar.height()), label, ink, font);
  const QString duration = formatDuration(span.durationNs);
  if (taken + textWidth(duration, FontRole::kSmall) + 14 < room) {
    list.text(QRectF(left + taken + 8, bar.top(), room - taken - 8, bar.height()), duration,
              mixed(ink, fill, 0.75), FontRole::kSmall);
  }
}

void TimelineScene::drawMark(DisplayList& list, const Span& span, double x, const QRectF& row,
                             double roomRight) const {
  const QColor colour = colourOf(span, frame_.colourBy, palette_);
  const double bottom = row.bottom();
  switch (span.kind) {
    case EventKind::kBucketReady:
    case EventKind::kBucketLaunched: {
      // Ready: pointing down, open; launched: pointing to the right, full. In the colour of
      // the bucket in either case, since a bucket is what they are about.
      const QColor own = palette_.bucket(span.bucket);
      const double h = row.height() - 1;
      const bool launched = span.kind == EventKind::kBucketLaunched;
      if (launched) {
        list.polygon({{x, row.top()}, {x + h * 0.8, row.top() + h / 2}, {x, row.top() + h}}, own);
      } else {
        list.polygon({{x - h / 2, row.top()}, {x + h / 2, row.top()}, {x, row.top() + h}},
                     mixed(own, palette_.background, 0.6));
      }
      const QString text = QStringLiteral("b%1").arg(span.bucket);
      const double width = textWidth(text, FontRole::kSmall);
      if (launched && roomRight - x > width + h + 3) {
        list.text(QRectF(x + h, row.top() - 2, width + 2, row.height() + 3), text,
                  palette_.textMuted, FontRole::kSmall);
      }
      break;
    }
    case EventKind::kMarkedUnused: {
      // Crossed out: a gradient that will not come.
      const QRectF cross(x - 3, bottom - 7, 6, 6);
      list.line(cross.topLeft(), cross.bottomRight(), colour, 1.5);
      list.line(cross.bottomLeft(), cross.topRight(), colour, 1.5);
      break;
    }
    case EventKind::kFault: {
      const double y = row.center().y();
      const double r = row.height() / 2;
      list.polygon({{x, y - r}, {x + r, y}, {x, y + r}, {x - r, y}}, Palette::textOn(colour));
      list.polygon({{x, y - r + 2}, {x + r - 2, y}, {x, y + r - 2}, {x - r + 2, y}}, colour);
      for (const QString& text : labelsOf(model_, span)) {
        const double width = textWidth(text, FontRole::kSmall) + 8;
        if (roomRight - x > width + r + 4) {
          const QRectF plate(x + r + 2, row.top(), width, row.height());
          list.fill(plate, colour, 2);
          list.text(plate, text, Palette::textOn(colour), FontRole::kSmall,
                    Qt::AlignHCenter | Qt::AlignVCenter);
          break;
        }
      }
      break;
    }
    case EventKind::kCollectiveQueued:
      list.polygon({{x - 3, row.top() + 1}, {x + 3, row.top() + 1}, {x, bottom}}, colour);
      break;
    default:
      list.fill(QRectF(x - 0.75, row.top() + row.height() * 0.15, 1.5, row.height() * 0.85),
                colour);
      break;
  }
}

}  // namespace lockstep::ui
