#include "ui/views/compare/ComparePicture.h"

#include <algorithm>
#include <memory>
#include <set>

#include "engine/trace/Event.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/compare/CompareScene.h"
#include "ui/views/compare/DistributionPanel.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

constexpr double kPictureMargin = 14;
constexpr double kPictureGap = 16;
constexpr double kHistogramHeight = 190;
constexpr double kLeastTimeline = 120;
constexpr double kTimelinesPart = 0.55;  // of the room, before tables have theirs
constexpr double kUnbounded = 1e6;
constexpr double kAround = 0.05;  // of the longer iteration, on both sides of it

/// Refers to what outlives the drawing.
std::shared_ptr<const AnalysedRun> borrowed(const AnalysedRun& run) {
  return {std::shared_ptr<const AnalysedRun>(), &run};
}

/// One of the two timelines.
struct Twin {
  const RunModel& model;
  QString title;
  std::optional<StepSpan> step;
  TimelineLayout layout;
};

/// What both show, counted from the start of their iterations, so that lengths compare.
TimeRange rangeOf(const StepSpan& step, double lengthNs) {
  return {step.startNs - lengthNs * kAround, step.startNs + lengthNs * (1 + kAround)};
}

double lengthOf(const std::optional<StepSpan>& step) {
  return step ? step->endNs - step->startNs : 0;
}

Twin twinOf(const RunModel& model, const CompareResult& result, std::size_t run, double lengthNs,
            bool collapsed) {
  const std::uint32_t iteration = result.typicalIterations[run];
  const std::optional<StepSpan> step = model.stepOfAll(iteration);
  std::set<int> ranks;
  for (int rank = 0; collapsed && rank < model.rankCount(); ++rank) {
    ranks.insert(rank);
  }
  // Start-up and rows that are empty in this stretch would only take room.
  const auto within = step ? std::optional(rangeOf(*step, lengthNs)) : std::nullopt;
  Twin twin{model, titleOfRun(result, run), step,
            TimelineLayout(model, ranks, {.within = within, .startUp = false})};
  // The ruler below has the first rank's own.
  twin.title += twin.step ? QStringLiteral("   iteration %1, %2 from first start to last end")
                                .arg(iteration)
                                .arg(formatDuration(twin.step->endNs - twin.step->startNs))
                          : QStringLiteral("   no measured iteration");
  return twin;
}

/// The ranks of a timeline that have room whole, the first ones, and how high they are with all
/// that is above them.
struct WholeRanks {
  std::size_t count = 0;
  double height = 0;
};

WholeRanks wholeRanks(const TimelineLayout& layout, double room) {
  WholeRanks whole;
  for (const TimelineLayout::RankBox& rank : layout.ranks()) {
    const double bottom = timeline_metrics::kRulerHeight + rank.top + rank.height;
    if (bottom > room + 0.5) {
      break;
    }
    whole = {whole.count + 1, bottom};
  }
  return whole;
}

void drawTwin(DisplayList& list, const Twin& twin, const QRectF& rect, double lengthNs,
              const Palette& palette) {
  const double line = lineHeight(FontRole::kBold) + 6;
  const double room = rect.height() - line;
  const WholeRanks whole = wholeRanks(twin.layout, room);
  const std::size_t ranks = twin.layout.ranks().size();
  const QString shown =
      whole.count == 0 || whole.count == ranks
          ? QString()
          : QStringLiteral("   the first %1 of %2 ranks").arg(whole.count).arg(ranks);
  list.title(QRectF(rect.left(), rect.top(), rect.width(), line), twin.title + shown, palette);
  // No iteration, or no room for a lane under the title.
  if (!twin.step || lengthNs <= 0 || room < 40) {
    return;
  }
  TimelineFrame frame;
  // No rank is begun that has no room.
  frame.size = QSizeF(rect.width(), shown.isEmpty() ? room : whole.height);
  frame.range = rangeOf(*twin.step, lengthNs);
  DisplayList body;
  body.clip(QRectF(QPointF(0, 0), frame.size));
  TimelineScene(twin.model, twin.layout, palette, frame).draw(body);
  body.unclip();
  list.append(body, QPointF(rect.left(), rect.top() + line));
}

}  // namespace

Picture comparePicture(const RunModel& a, const AnalysedRun& analysedA, const RunModel& b,
                       const AnalysedRun& analysedB, QSize size, Theme theme) {
  const Palette& palette = Palette::of(theme);
  const auto result =
      compareRuns({compareInput(a, borrowed(analysedA)), compareInput(b, borrowed(analysedB))});
  const double width = size.width() - 2 * kPictureMargin;
  const double left = (width - kPictureGap) * 0.53;
  const double right = width - kPictureGap - left;
  const QRectF endless(0, 0, left, kUnbounded);
  // Without a list these only measure.
  const double keys = drawCompareKeys(nullptr, endless, *result, palette);
  const double metrics = drawCompareMetrics(nullptr, endless, *result, palette);
  const double header = drawCompareHeader(nullptr, endless, *result, palette);
  const double tables = keys + kPictureGap + metrics;

  // A picture of a given height shows a strip of each rank.
  const bool collapsed = size.height() > 0;
  const double length = std::max(lengthOf(a.stepOfAll(result->typicalIterations[0])),
                                 lengthOf(b.stepOfAll(result->typicalIterations[1])));
  const Twin twins[] = {twinOf(a, *result, 0, length, collapsed),
                        twinOf(b, *result, 1, length, collapsed)};
  const double title = lineHeight(FontRole::kBold) + 6;
  const auto wanted = [&](const Twin& twin) {
    return title + timeline_metrics::kRulerHeight + twin.layout.height();
  };
  Picture picture;
  picture.title = titleOfRun(*result, 0) + QStringLiteral(" against ") + titleOfRun(*result, 1);
  const double all = kPictureMargin + header + kPictureGap + tables + kPictureGap +
                     wanted(twins[0]) + kPictureGap + wanted(twins[1]) + kPictureMargin;
  picture.size = QSizeF(size.width(), size.height() > 0 ? size.height() : all);
  DisplayList& list = picture.list;
  list.fill(QRectF(QPointF(0, 0), picture.size), palette.background);

  double y = kPictureMargin;
  y += drawCompareHeader(&list, QRectF(kPictureMargin, y, width, header), *result, palette) +
       kPictureGap;
  // Where all does not fit, the timelines keep a good half, and the tables, which count what they
  // leave out, have the rest.
  const double room = picture.size.height() - y - kPictureMargin;
  const double forTwins =
      std::max(2 * kLeastTimeline + kPictureGap,
               std::min(wanted(twins[0]) + kPictureGap + wanted(twins[1]),
                        std::max(room - tables - kPictureGap, room * kTimelinesPart)));
  const double forTables = std::min(tables, room - forTwins - kPictureGap);
  // Keys give way to figures, down to 35 % of the room.
  const double forKeys =
      std::min(keys, std::max(forTables * 0.35, forTables - metrics - kPictureGap));
  const double keysTook =
      drawCompareKeys(&list, QRectF(kPictureMargin, y, left, forKeys), *result, palette);
  drawCompareMetrics(
      &list,
      QRectF(kPictureMargin, y + keysTook + kPictureGap, left, forTables - keysTook - kPictureGap),
      *result, palette);
  const double histogram = std::min(kHistogramHeight, forTables * 0.5);
  const double rightX = kPictureMargin + left + kPictureGap;
  drawCompareWhy(&list, QRectF(rightX, y, right, forTables - histogram - kPictureGap), *result,
                 palette);
  list.title(QRectF(rightX, y + forTables - histogram, right, title), QStringLiteral("Step time"),
             palette);
  DisplayList histograms;
  drawHistogram(
      histograms,
      histogramFrame(*result, trace::EventKind::kStep, QSizeF(right, histogram - title), palette),
      palette);
  list.append(histograms, QPointF(rightX, y + forTables - histogram + title));
  y += forTables + kPictureGap;

  const double rest = picture.size.height() - kPictureMargin - y - kPictureGap;
  // Half each, or what it wants where that is less: the other has what is left.
  const double upper = wanted(twins[0]) <= rest / 2   ? wanted(twins[0])
                       : wanted(twins[1]) <= rest / 2 ? rest - wanted(twins[1])
                                                      : rest / 2;
  drawTwin(list, twins[0], QRectF(kPictureMargin, y, width, upper), length, palette);
  drawTwin(list, twins[1], QRectF(kPictureMargin, y + upper + kPictureGap, width, rest - upper),
           length, palette);
  return picture;
}

}  // namespace lockstep::ui
