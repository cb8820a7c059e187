#include <algorithm>
#include <array>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/TimelineLayout.h"
#include "ui/views/timeline/TimelineOverview.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kColumn = 2;        // px of a column
constexpr double kColumnMargin = 4;  // px above and below the columns
constexpr double kLeastWindow = 3;   // px of the visible range
constexpr double kLeastStart = 4;    // px of what is before the first iteration

struct Layer {
  Activity activity;
  Tone tone;
};

// From the bottom up.
constexpr std::array kLayers{
    Layer{Activity::kForward, Tone::kForward},     Layer{Activity::kBackward, Tone::kBackward},
    Layer{Activity::kOptimizer, Tone::kOptimizer}, Layer{Activity::kData, Tone::kData},
    Layer{Activity::kEvaluate, Tone::kEvaluate},
};

// Neighbouring columns of one height are one rectangle.
class Bars {
 public:
  Bars(DisplayList& list, QColor colour) : list_(list), colour_(std::move(colour)) {}
  ~Bars() { flush(); }
  Bars(const Bars&) = delete;
  Bars& operator=(const Bars&) = delete;

  void add(double x, double top, double bottom) {
    if (bottom - top < 0.5) {
      return;
    }
    if (rect_.width() > 0 && rect_.right() >= x && rect_.top() == top && rect_.bottom() == bottom) {
      rect_.setRight(x + kColumn);
      return;
    }
    flush();
    rect_ = QRectF(QPointF(x, top), QPointF(x + kColumn, bottom));
  }

 private:
  void flush() {
    if (rect_.width() > 0) {
      list_.fill(rect_, colour_);
    }
    rect_ = {};
  }

  DisplayList& list_;
  QColor colour_;
  QRectF rect_;
};

void drawColumns(DisplayList& list, const QRectF& area, const RunModel& model,
                 const Palette& palette, const TimeAxis& axis, ColourBy by) {
  std::array<std::optional<Bars>, kLayers.size()> layers;
  for (std::size_t i = 0; i < kLayers.size(); ++i) {
    layers[i].emplace(list, palette.tone(kLayers[i].tone));
  }
  Bars exposed(list, palette.tone(Tone::kWait));
  const double ranks = std::max(1, model.rankCount());
  double lostFrom = -1;  // px where a stretch of lost events begins
  std::vector<QRectF> lost;
  for (double x = axis.left(); x < axis.right(); x += kColumn) {
    const auto from = static_cast<double>(model.toTicks(axis.toNs(x)));
    const auto to = static_cast<double>(model.toTicks(axis.toNs(x + kColumn)));
    const ActivityBins::Sums sums = model.activity().between(from, to);
    const double whole = (to - from) * ranks;
    if (sums.lostEvents > 0 && lostFrom < 0) {
      lostFrom = x;
    } else if (sums.lostEvents <= 0 && lostFrom >= 0) {
      lost.emplace_back(lostFrom, area.top() - kColumnMargin, std::max(x - lostFrom, 3.0),
                        area.height() + 2 * kColumnMargin);
      lostFrom = -1;
    }
    if (whole <= 0) {
      continue;
    }
    const auto height = [&](double ticks) {
      return std::clamp(ticks / whole, 0.0, 1.0) * area.height();
    };
    const double waited = sums.of(Activity::kExposed);
    if (by == ColourBy::kWait) {
      exposed.add(x, std::round(area.bottom() - height(waited)), area.bottom());
      continue;
    }
    // The exact sum goes on beside the rounded edges, so that roundings do not add up over the
    // layers.
    double bottom = area.bottom();
    double exact = area.bottom();
    for (std::size_t i = 0; i < kLayers.size(); ++i) {
      double ticks = sums.of(kLayers[i].activity);
      // Waiting for buckets is a part of the backward: it is taken from there and drawn from the
      // top.
      if (kLayers[i].activity == Activity::kBackward) {
        ticks = std::max(0.0, ticks - waited);
      }
      exact -= height(ticks);
      const double top = std::max(std::round(exact), area.top());
      layers[i]->add(x, top, bottom);
      bottom = std::min(bottom, top);
    }
    exposed.add(x, area.top(), std::min(std::round(area.top() + height(waited)), bottom));
  }
  if (lostFrom >= 0) {
    lost.emplace_back(lostFrom, area.top() - kColumnMargin, axis.right() - lostFrom,
                      area.height() + 2 * kColumnMargin);
  }
  for (const QRectF& stretch : lost) {
    list.fill(stretch, withAlpha(palette.background, 0.7f));
    list.hatch(stretch, palette.warning);
    list.fill(QRectF(stretch.left(), stretch.bottom() - 2, stretch.width(), 2), palette.warning);
  }
}

// Where the first iteration begins: before it no phase can be told, which would look as if nothing
// were known.
double startEndNs(const RunModel& model, const TimeAxis& axis) {
  const auto first = model.firstStep();
  const auto step = first ? model.stepOfAll(*first) : std::nullopt;
  const bool seen = step && axis.toX(step->startNs) - axis.left() >= kLeastStart;
  return seen ? step->startNs : axis.startNs();
}

void drawStartWords(DisplayList& list, const QRectF& start, double lengthNs,
                    const Palette& palette) {
  const QString name = QStringLiteral("start");
  for (const QString& text : {name + QLatin1Char(' ') + formatDuration(lengthNs), name}) {
    if (textWidth(text, FontRole::kSmall) + 8 <= start.width()) {
      list.note(start, text, palette, Qt::AlignCenter);
      return;
    }
  }
}

void drawWindow(DisplayList& list, const QRectF& area, const Palette& palette, const TimeAxis& axis,
                TimeRange shown) {
  double left = std::clamp(axis.toX(shown.startNs), axis.left(), axis.right());
  double right = std::clamp(axis.toX(shown.endNs), axis.left(), axis.right());
  if (right - left < kLeastWindow) {
    left = std::clamp((left + right - kLeastWindow) / 2, axis.left(),
                      std::max(axis.left(), axis.right() - kLeastWindow));
    right = left + kLeastWindow;
  }
  const QColor veil = withAlpha(palette.background, 0.55f);
  list.fill(QRectF(axis.left(), area.top(), left - axis.left(), area.height()), veil);
  list.fill(QRectF(right, area.top(), axis.right() - right, area.height()), veil);
  const QRectF window(left, area.top(), right - left, area.height());
  list.outline(window, palette.accent, 2);
  if (window.width() > 16) {
    for (const double x : {window.left(), window.right() - 4}) {
      list.fill(QRectF(x, window.center().y() - 8, 4, 16), palette.accent, 2);
    }
  }
}

}  // namespace

TimeAxis overviewAxis(const RunModel& model, const QRectF& rect) {
  const TimeRange all = model.extent();
  return {all.startNs, std::max(all.endNs, all.startNs + 1), rect.left() + kLabelWidth,
          std::max(1.0, rect.width() - kLabelWidth)};
}

void drawOverview(DisplayList& list, const QRectF& rect, const RunModel& model,
                  const Palette& palette, const OverviewFrame& frame) {
  list.fill(rect, palette.background);
  list.fill(QRectF(rect.left(), rect.top(), kLabelWidth - 1, rect.height()), palette.surface);
  list.fill(QRectF(rect.left() + kLabelWidth - 1, rect.top(), 1, rect.height()),
            palette.gridStrong);
  const TimeRange all = model.extent();
  const bool waits = frame.colourBy == ColourBy::kWait;
  const QRectF label(rect.left() + 10, rect.top() + 5, kLabelWidth - 14, 17);
  list.title(label, waits ? QStringLiteral("Exposed share") : QStringLiteral("Whole run"), palette);
  list.note(label.translated(0, 18), formatDuration(all.lengthNs()), palette);
  const TimeAxis axis = overviewAxis(model, rect);
  const QRectF area(axis.left(), rect.top() + kColumnMargin, axis.width(),
                    rect.height() - 2 * kColumnMargin - 1);
  list.clip(QRectF(axis.left(), rect.top(), axis.width(), rect.height()));
  const double startNs = startEndNs(model, axis);
  const QRectF start(area.left(), area.top(), axis.toX(startNs) - area.left(), area.height());
  list.fill(start, palette.raised);
  drawColumns(list, area, model, palette, axis, frame.colourBy);
  if (frame.filter) {
    const double left = axis.toX(frame.filter->startNs);
    list.fill(QRectF(left, area.bottom() - 1,
                     std::max(axis.toX(frame.filter->endNs) - left, kLeastWindow), 4),
              palette.accent);
  }
  if (!frame.shown.empty()) {
    drawWindow(list, QRectF(area.left(), rect.top() + 1, area.width(), rect.height() - 3), palette,
               axis, frame.shown);
  }
  drawStartWords(list, start, startNs - axis.startNs(), palette);
  if (frame.notes != nullptr) {
    for (const Mark& mark : frame.notes->marks()) {
      const double x = std::round(axis.toX(mark.ns));
      list.polygon({{x - 4, rect.top()}, {x + 4, rect.top()}, {x, rect.top() + 6}},
                   mark.kind == Mark::Kind::kNote ? palette.measure : palette.accent);
    }
  }
  list.unclip();
  list.fill(QRectF(rect.left(), rect.bottom() - 1, rect.width(), 1), palette.gridStrong);
}

}  // namespace lockstep::ui
