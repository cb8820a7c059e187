#include "ui/views/timeline/TimelinePicture.h"

#include <set>
#include <vector>

#include "ui/canvas/Picture.h"
#include "ui/model/Format.h"
#include "ui/model/RunTitle.h"
#include "ui/views/timeline/FirstLook.h"
#include "ui/views/timeline/TimelineLegend.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

constexpr double kLegendPadding = 8;  // above and below together

QString subtitle(const RunModel& model, TimeRange range, std::size_t shownRanks) {
  QStringList parts;
  const QString ranks = formatCounted(static_cast<std::uint64_t>(model.rankCount()), "rank");
  parts << (shownRanks == 0 ? ranks
                            : QStringLiteral("%1 of %2").arg(formatCount(shownRanks), ranks));
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

// Folds lanes of a run of many, the last first, until all have room.
TimelineLayout laidOut(const RunModel& model, const TimelineLayout::Options& options, double room) {
  std::set<int> folded;
  TimelineLayout layout(model, folded, options);
  const bool many = !layout.lines().empty();
  for (std::size_t last = layout.ranks().size(); many && last > 0 && layout.height() > room;
       --last) {
    folded.insert(layout.ranks()[last - 1].rank);
    layout = TimelineLayout(model, folded, options);
  }
  return layout;
}

}  // namespace

Picture timelinePicture(const RunModel& model, QSize size, Theme theme,
                        std::optional<TimeRange> range, const PicturedRanks& ranks) {
  const Palette& palette = Palette::of(theme);
  const TimeRange shown = range.value_or(firstLook(model));
  std::vector<std::string> counters;
  for (const QString& name : ViewState::usualCounters()) {
    counters.push_back(name.toStdString());
  }
  const std::vector<LegendEntry> entries = timelineLegend(model, ColourBy::kPhase, palette);
  const double legend = kLegendPadding + legendHeight(entries, size.width() - 24);
  const double above = kPictureHead + kOverviewHeight;
  const TimelineLayout layout =
      laidOut(model,
              // A picture does not move in time: rows that are empty in its stretch take no room.
              {.within = shown, .shown = ranks.shown, .unlike = ranks.unlike, .counters = counters},
              kHighestPicture - above - timeline_metrics::kRulerHeight - legend);
  Picture picture;
  picture.title = titleOfRun(model);
  picture.size = QSizeF(size.width(), size.height() > 0 ? size.height()
                                                        : above + timeline_metrics::kRulerHeight +
                                                              layout.height() + legend);
  TimelineFrame frame;
  frame.size = QSizeF(picture.size.width(), picture.size.height() - above - legend);
  frame.range = shown;

  DisplayList& list = picture.list;
  drawPictureHead(picture, subtitle(model, shown, ranks.shown.size()), palette);
  list.append(drawn(TimelineScene(model, layout, palette, frame)), QPointF(0, above));
  if (model.spanCount() > 0) {
    OverviewFrame overview;
    overview.shown = shown;
    drawOverview(list, QRectF(0, kPictureHead, picture.size.width(), kOverviewHeight), model,
                 palette, overview);
  }
  const double legendTop = picture.size.height() - legend;
  list.fill(QRectF(0, legendTop, picture.size.width(), 1), palette.gridStrong);
  drawLegend(list, QRectF(12, legendTop, picture.size.width() - 24, legend), entries, palette);
  return picture;
}

}  // namespace lockstep::ui
