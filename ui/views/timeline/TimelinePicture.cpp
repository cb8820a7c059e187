#include "ui/views/timeline/TimelinePicture.h"

#include <algorithm>
#include <vector>

#include "ui/canvas/Picture.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/model/RunTitle.h"
#include "ui/views/timeline/FirstLook.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

constexpr double kTitleHeight = 38;
constexpr double kLegendHeight = 34;

QString subtitle(const RunModel& model, TimeRange range) {
  QStringList parts;
  const int ranks = model.rankCount();
  parts << formatCounted(static_cast<std::uint64_t>(ranks), "rank");
  const auto first = model.stepAt(0, range.startNs + range.lengthNs() * 0.05);
  const auto last = model.stepAt(0, range.endNs - range.lengthNs() * 0.05);
  if (first && last) {
    parts << (first->step == last->step
                  ? QStringLiteral("iteration %1").arg(first->step)
                  : QStringLiteral("iterations %1 to %2").arg(first->step).arg(last->step)) +
                 QStringLiteral(" of %1").arg(formatCount(model.stepCount(0)));
  }
  const trace::BucketsMessage* layout = first ? model.layoutAt(first->step) : nullptr;
  if (layout != nullptr) {
    parts << formatCounted(layout->buckets.size(), "bucket");
  }
  parts << formatDuration(range.lengthNs()) + QStringLiteral(" shown");
  return parts.join(QStringLiteral("  ·  "));
}

}  // namespace

Picture timelinePicture(const RunModel& model, QSize size, Theme theme,
                        std::optional<TimeRange> range) {
  const Palette& palette = Palette::of(theme);
  const TimeRange shown = range.value_or(firstLook(model));
  std::vector<std::string> counters;
  for (const QString& name : ViewState::usualCounters()) {
    counters.push_back(name.toStdString());
  }
  const TimelineLayout layout(model, {}, {.within = shown, .counters = counters});
  const double lanes = timeline_metrics::kRulerHeight + layout.height();
  Picture picture;
  picture.size = QSizeF(size.width(), size.height() > 0 ? size.height()
                                                        : kTitleHeight + kOverviewHeight + lanes +
                                                              kLegendHeight);
  TimelineFrame frame;
  frame.size = QSizeF(picture.size.width(), picture.size.height() - kTitleHeight -
                                                kOverviewHeight - kLegendHeight);
  frame.range = shown;

  DisplayList& list = picture.list;
  list.fill(QRectF(QPointF(0, 0), picture.size), palette.background);
  picture.title = titleOfRun(model);
  const double width = textWidth(picture.title, FontRole::kBold);
  list.text(QRectF(12, 0, width + 4, kTitleHeight), picture.title, palette.text, FontRole::kBold);
  list.text(QRectF(12 + width + 16, 0, picture.size.width() - width - 40, kTitleHeight),
            subtitle(model, shown), palette.textMuted, FontRole::kSmall);

  DisplayList body;
  TimelineScene(model, layout, palette, frame).draw(body);
  list.append(body, QPointF(0, kTitleHeight + kOverviewHeight));
  if (model.spanCount() > 0) {
    OverviewFrame overview;
    overview.shown = shown;
    drawOverview(list, QRectF(0, kTitleHeight, picture.size.width(), kOverviewHeight), model,
                 palette, overview);
  }
  const double legendTop = picture.size.height() - kLegendHeight;
  list.fill(QRectF(0, legendTop, picture.size.width(), 1), palette.gridStrong);
  TimelineScene::drawLegend(
      list, QRectF(12, legendTop, picture.size.width() - 24, kLegendHeight), palette, model);
  return picture;
}

QImage renderTimeline(const RunModel& model, QSize size, Theme theme,
                      std::optional<TimeRange> range, double scale) {
  return renderPicture(timelinePicture(model, size, theme, range), scale);
}

base::Status saveTimeline(const RunModel& model, const QString& path, QSize size, Theme theme,
                          std::optional<TimeRange> range, double scale) {
  if (model.spanCount() == 0) {
    return base::Error{base::ExitCode::kBadInput, "this run holds no events to draw",
                       path.toStdString()};
  }
  return savePicture(timelinePicture(model, size, theme, range), path, scale);
}

}  // namespace lockstep::ui
