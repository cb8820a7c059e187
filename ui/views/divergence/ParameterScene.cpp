#include "ui/views/divergence/ParameterScene.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"
#include "ui/views/divergence/StripScene.h"

namespace lockstep::ui {
namespace {

constexpr double kNameGutter = 190;
constexpr double kSceneMargin = 12;
constexpr double kVerdictTitle = 24;
constexpr double kVerdictLine = 16;
constexpr qsizetype kVerdictLines = 2;
constexpr double kStrip = 62;
constexpr double kStripGap = 8;
constexpr double kHeatTitle = 26;
constexpr double kRuler = 22;
constexpr double kLeastRow = 3;
constexpr double kComfortableRow = 16;
constexpr double kMostRow = 26;
constexpr double kLabelledRow = 11;
constexpr double kNarrowest = 3;

}  // namespace

TimeAxis ParameterScene::axisFor(double width, double firstStep, double endStep) {
  return {firstStep, endStep, kNameGutter, std::max(20.0, width - kNameGutter - kSceneMargin)};
}

ParameterScene::ParameterScene(const DivergenceFacts& facts, const Palette& palette,
                               ParameterFrame frame)
    : facts_(facts),
      palette_(palette),
      frame_(std::move(frame)),
      axis_(axisFor(frame_.size.width(), frame_.firstStep, frame_.endStep)),
      verdict_(verdictOf(facts)) {
  // Two lines at most, so that the heat map does not move with each word of the verdict.
  lines_ = brokenInto(verdict_.more.trimmed(), frame_.size.width() - 60, FontRole::kSmall,
                      kVerdictLines);
  top_ = kVerdictTitle + kVerdictLine * static_cast<double>(lines_.size()) + 12;
  const double top =
      top_ + static_cast<double>(facts_.strips.size()) * (kStrip + kStripGap) + kHeatTitle;
  const double room = frame_.size.height() - kRuler - top;
  const std::size_t parameters = facts_.divergence.replicas.parameters;
  if (parameters == 0 || facts_.hashes.levels() == 0 || room < kLeastRow) {
    return;
  }
  // Note [Rows of the heat map]
  //
  // Each parameter has a row while there are 3 px for each. Beyond that a row is 3 px high and
  // stands for a range of neighbours, with the colour of the worst of them: of 1000 parameters in
  // 300 px, row 0 stands for 0 to 9, and so on. Columns do the same over samples, by the levels of
  // HeatPyramid. So a single bad cell of a long run is always seen, and a click finds it: placeAt()
  // looks for the worst of all that the pixel stands for.
  const double each = std::min(room / static_cast<double>(parameters), kMostRow);
  rows_ = each >= kLeastRow ? parameters
                            : std::max<std::size_t>(1, static_cast<std::size_t>(room / kLeastRow));
  const double height = each >= kLeastRow ? each * static_cast<double>(rows_) : room;
  heat_ = QRectF(axis_.left(), top, axis_.width(), height);
}

double ParameterScene::comfortableHeight() const {
  const double strips = top_ + static_cast<double>(facts_.strips.size()) * (kStrip + kStripGap);
  const std::size_t parameters = facts_.divergence.replicas.parameters;
  return parameters == 0
             ? strips + kRuler + 8
             : strips + kHeatTitle + kRuler + 6 +
                   kComfortableRow * std::max<double>(6, static_cast<double>(parameters));
}

QRectF ParameterScene::stripPlot(std::size_t strip) const {
  return {axis_.left(), top_ + static_cast<double>(strip) * (kStrip + kStripGap), axis_.width(),
          kStrip};
}

std::size_t ParameterScene::stripAt(QPointF position) const {
  std::size_t strip = 0;
  while (strip < facts_.strips.size() && !stripPlot(strip).contains(position)) {
    ++strip;
  }
  return strip;
}

std::pair<std::size_t, std::size_t> ParameterScene::parametersOf(std::size_t row) const {
  const std::size_t parameters = facts_.divergence.replicas.parameters;
  return {row * parameters / rows_,
          std::max((row + 1) * parameters / rows_, row * parameters / rows_ + 1)};
}

std::size_t ParameterScene::rowOf(std::size_t parameter) const {
  const std::size_t parameters = facts_.divergence.replicas.parameters;
  // A guess by proportion may be one short, because parametersOf() rounds down.
  std::size_t row = std::min(parameter * rows_ / parameters, rows_ - 1);
  while (row + 1 < rows_ && parametersOf(row).second <= parameter) {
    ++row;
  }
  return row;
}

QRectF ParameterScene::rowRect(std::size_t row) const {
  const double each = heat_.height() / static_cast<double>(rows_);
  return {heat_.left(), heat_.top() + each * static_cast<double>(row), heat_.width(), each};
}

HeatRow ParameterScene::heatRow(std::pair<std::size_t, std::size_t> parameters) const {
  return {facts_.pyramid(frame_.measure), facts_.divergence.replicas.steps, parameters};
}

void ParameterScene::draw(DisplayList& list) const {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  drawVerdict(list);
  for (std::size_t strip = 0; strip < facts_.strips.size(); ++strip) {
    drawStrip(list, facts_.strips[strip], axis_, stripPlot(strip), kSceneMargin, palette_);
  }
  if (!heat_.isEmpty()) {
    drawHeatMap(list);
  } else if (facts_.divergence.replicas.steps.empty()) {
    drawNothingSampled(list);
  }
  if (!facts_.strips.empty() || !heat_.isEmpty()) {
    const double bottom = heat_.isEmpty() ? stripPlot(facts_.strips.size()).top() - kStripGap + 1
                                          : heat_.bottom() + 1;
    drawStepRuler(list, axis_, QRectF(axis_.left(), bottom, axis_.width(), kRuler - 2), palette_);
    list.note(QRectF(kSceneMargin, bottom, kNameGutter - kSceneMargin - 8, kRuler - 2),
              QStringLiteral("iteration"), palette_, kToTheRight);
  }
  drawPointer(list);
}

void ParameterScene::drawVerdict(DisplayList& list) const {
  const Verdict& verdict = verdict_;
  const bool equal = verdict.kind == Verdict::Kind::kEqual;
  const bool drift = verdict.kind == Verdict::Kind::kDrift;
  const bool bad = verdict.isBad();
  const QColor ink = equal ? palette_.good : bad ? palette_.error : palette_.textMuted;
  const QRectF band(0, 0, frame_.size.width(), top_ - 8);
  list.fill(band, mixed(ink, palette_.background, 0.10));
  list.fill(QRectF(0, 0, 4, band.height()), ink);
  const double x = kSceneMargin + 8;
  const QPointF middle(x + 4, 12);
  if (equal) {
    list.polyline({middle + QPointF(-6, 0), middle + QPointF(-2, 4), middle + QPointF(6, -5)}, ink,
                  2);
  } else if (drift) {  // two lines that part
    list.polyline({middle + QPointF(-6, 0), middle + QPointF(-1, 0), middle + QPointF(6, -5)}, ink,
                  2);
    list.line(middle + QPointF(-1, 0), middle + QPointF(6, 5), ink, 2);
  } else if (bad) {
    list.line(middle + QPointF(-5, -5), middle + QPointF(5, 5), ink, 2);
    list.line(middle + QPointF(-5, 5), middle + QPointF(5, -5), ink, 2);
  } else {
    list.fill(QRectF(middle - QPointF(5, 1), QSizeF(10, 2)), ink);
  }
  const double width = frame_.size.width() - x - 18 - kSceneMargin;
  const std::vector<int>& ranks = facts_.divergence.replicas.ranks;
  // Without fingerprints the strips alone say which ranks there are.
  std::vector<int> legend = ranks;
  if (legend.empty() && !facts_.strips.empty()) {
    for (const StepSeries& series : facts_.strips.front().series) {
      legend.push_back(series.rank());
    }
  }
  const double titleWidth = std::min(width, textWidth(verdict.title, FontRole::kBold) + 8);
  list.text(QRectF(x + 18, 2, titleWidth, 20), verdict.title, bad ? ink : palette_.text,
            FontRole::kBold);
  drawRankLegend(list, QRectF(x + 30 + titleWidth, 2, width - titleWidth - 12, 20), legend,
                 palette_);
  list.lines(QRectF(x + 18, kVerdictTitle - 2, width, kVerdictLine), lines_, palette_.textMuted);
}

void ParameterScene::drawNothingSampled(DisplayList& list) const {
  const double top = stripPlot(facts_.strips.size()).top() + kRuler;
  const QRectF area(0, top, frame_.size.width(), frame_.size.height() - top);
  // In less height the message would not be whole.
  constexpr double kLeastHeight = 70;
  if (area.height() >= kLeastHeight) {
    drawMessage(list, area, QStringLiteral("No heat map without fingerprints"),
                QStringLiteral("Parameter by iteration stands here when the ranks hash their "
                               "parameters every few iterations."),
                palette_.textMuted, palette_);
  }
}

void ParameterScene::drawHeatMap(DisplayList& list) const {
  const double y = heat_.top() - kHeatTitle;
  const QString title = frame_.measure == HeatMeasure::kHashes
                            ? QStringLiteral("Replicas: parameter by iteration")
                            : QStringLiteral("Norms against rank %1: parameter by iteration")
                                  .arg(facts_.divergence.replicas.ranks.empty()
                                           ? 0
                                           : facts_.divergence.replicas.ranks.front());
  list.title(QRectF(kSceneMargin, y + 2, textWidth(title, FontRole::kBold) + 6, kHeatTitle - 4),
             title, palette_);
  double x = kSceneMargin + textWidth(title, FontRole::kBold) + 26;
  const std::pair<QString, std::int16_t> legend[] = {
      {QStringLiteral("equal"), HeatPyramid::kEqual},
      {QStringLiteral("between samples, not known"), kBetweenSamples},
      {facts_.drifts ? QStringLiteral("apart, by design") : QStringLiteral("differs"),
       HeatPyramid::kMost},
      {QStringLiteral("not finite"), HeatPyramid::kNotFinite},
      {QStringLiteral("not compared"), HeatPyramid::kUnknown}};
  for (const auto& [text, badness] : legend) {
    // Rare: named in the legend only where there is one.
    const bool rare = (badness == HeatPyramid::kNotFinite && !facts_.divergence.lost) ||
                      (badness == kBetweenSamples && !facts_.divergence.first);
    if (rare) {
      continue;
    }
    const double width = textWidth(text, FontRole::kSmall);
    drawRun(list, QRectF(x, y + 8, 14, 11), badness);
    list.note(QRectF(x + 19, y + 2, width + 4, kHeatTitle - 4), text, palette_);
    x += 19 + width + 16;
  }
  list.clip(heat_);
  for (std::size_t row = 0; row < rows_; ++row) {
    drawRow(list, row);
  }
  list.unclip();
  drawRowLabels(list);
  drawMarks(list);
}

std::size_t ParameterScene::level() const {
  const auto& steps = facts_.divergence.replicas.steps;
  const double perSample =
      (stepOfSample(steps, steps.size()) - steps.front()) / static_cast<double>(steps.size());
  // Samples are mostly at equal distances, so the mean tells how wide one is.
  const double samplesAPixel = axis_.nsPerPixel() / std::max(perSample, 1e-9);
  return facts_.pyramid(frame_.measure).levelFor(samplesAPixel * kNarrowest);
}

void ParameterScene::drawRow(DisplayList& list, std::size_t row) const {
  const QRectF full = rowRect(row);
  const double gap = full.height() >= 8 ? 1 : 0;
  for (const HeatRun& run :
       heatRow(parametersOf(row)).runs(level(), axis_.startNs(), axis_.endNs())) {
    const double left = axis_.toX(run.fromStep);
    drawRun(list, QRectF(left, full.top(), axis_.toX(run.endStep) - left, full.height() - gap),
            run.badness);
  }
}

void ParameterScene::drawRun(DisplayList& list, const QRectF& rect, std::int16_t badness) const {
  if (badness == HeatPyramid::kUnknown) {
    list.fill(rect, palette_.surface);
    list.hatch(rect, palette_.grid);
  } else if (badness == kBetweenSamples) {
    list.fill(rect, mixed(palette_.textMuted, palette_.background, 0.22));
  } else if (badness == HeatPyramid::kEqual) {
    list.fill(rect, mixed(palette_.good, palette_.background, 0.28));
  } else if (badness == HeatPyramid::kNotFinite) {
    list.fill(rect, mixed(palette_.text, palette_.background, 0.75));
    list.hatch(rect, palette_.error);
  } else {
    const double part = static_cast<double>(badness) / HeatPyramid::kMost;
    // What is as it should be has the colour of no alarm.
    const QColor colour = facts_.drifts ? palette_.textMuted : palette_.error;
    const double strength = facts_.drifts ? 0.25 + 0.35 * part : 0.40 + 0.55 * part;
    list.fill(rect, mixed(colour, palette_.background, strength));
    if (rect.height() >= 6) {
      list.hatch(rect, withAlpha(palette_.background, 0.35f));
    }
  }
}

void ParameterScene::drawRowLabels(DisplayList& list) const {
  const double each = heat_.height() / static_cast<double>(rows_);
  const std::size_t stride =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(kLabelledRow / each)));
  const auto& first = facts_.divergence.first;
  // The name of the first parameter that differs is in the colour of errors, unless it may differ.
  const std::size_t firstRow = first && !facts_.drifts ? rowOf(first->parameter) : rows_;
  for (std::size_t row = 0; row < rows_; row += stride) {
    const bool bad = row == firstRow;
    const double height = std::max(each * static_cast<double>(stride), 12.0);
    const QRectF label(kSceneMargin, rowRect(row).top() - (height > each ? 1 : 0),
                       kNameGutter - kSceneMargin - 8, std::min(height, std::max(each, 12.0)));
    // No label below the last row, where the ruler is.
    if (label.top() + 10 > heat_.bottom()) {
      break;
    }
    list.text(label, nameOfParameter(facts_, parametersOf(row).first),
              bad ? palette_.error : palette_.textMuted, FontRole::kSmall, kToTheRight);
  }
}

void ParameterScene::drawMarks(DisplayList& list) const {
  if (const auto& first = facts_.divergence.first) {
    if (const auto rect = rectOf({first->sample, first->parameter})) {
      const QRectF mark = rect->adjusted(-2, -2, 2, 2);
      list.outline(mark, palette_.text);
      list.outline(mark.adjusted(1, 1, -1, -1), palette_.text);
      const QString text = (facts_.drifts ? QStringLiteral("first apart: iteration %1")
                                          : QStringLiteral("first difference: iteration %1"))
                               .arg(first->step);
      const double width = textWidth(text, FontRole::kSmall) + 12;
      // Behind the mark where there is room, else before it: it must hide neither the cell nor what
      // was seen last before it.
      const double left =
          mark.right() + 6 + width <= heat_.right() ? mark.right() + 6 : mark.left() - width - 6;
      const double top = std::clamp(mark.center().y() - 9, heat_.top() - 2,
                                    std::max(heat_.top() - 2, heat_.bottom() - 18));
      drawPlate(list, QRectF(left, top, width, 18), text, palette_.text,
                {.ink = palette_.background});
    }
  }
  if (frame_.selected) {
    if (const auto rect = rectOf(*frame_.selected)) {
      list.outline(rect->adjusted(-1, -1, 1, 1), palette_.accent, 2);
      list.outline(rect->adjusted(-2, -2, 2, 2), palette_.accent, 2);
    }
  }
}

void ParameterScene::drawPointer(DisplayList& list) const {
  if (!frame_.pointer || frame_.pointer->x() < axis_.left() ||
      frame_.pointer->x() > axis_.right()) {
    return;
  }
  const QPointF at = *frame_.pointer;
  // Over the verdict there is nothing to point at.
  if (at.y() < top_) {
    return;
  }
  const double bottom = heat_.isEmpty() ? stripPlot(facts_.strips.size()).top() : heat_.bottom();
  list.fill(QRectF(std::round(at.x()), top_, 1, bottom - top_),
            withAlpha(palette_.textMuted, 0.4f));
  const double step = std::floor(axis_.toNs(at.x()));
  if (const auto place = placeAt(at)) {
    if (const auto rect = rectOf(*place)) {
      list.outline(rect->adjusted(-1, -1, 1, 1), palette_.hover, 1);
    }
    drawFactCard(list, frame_.size, at, nameOfParameter(facts_, place->parameter), {},
                 heatRow({place->parameter, place->parameter + 1}).isBetween(step)
                     ? factsBetween(facts_, *place)
                     : factsOf(facts_, *place),
                 palette_);
  } else if (const std::size_t strip = stripAt(at); strip < facts_.strips.size() && step >= 0) {
    const auto number = static_cast<std::uint32_t>(step);
    drawFactCard(list, frame_.size, at,
                 QStringLiteral("%1, iteration %2")
                     .arg(titleOf(facts_.strips[strip].kind))
                     .arg(formatCount(number)),
                 {}, factsAt(facts_.strips[strip], number), palette_);
  }
}

std::optional<ReplicaPlace> ParameterScene::placeAt(QPointF position) const {
  if (heat_.isEmpty() || !heat_.contains(position)) {
    return std::nullopt;
  }
  const auto& steps = facts_.divergence.replicas.steps;
  const double fromStep = axis_.toNs(position.x());
  if (fromStep < steps.front() || fromStep >= stepOfSample(steps, steps.size())) {
    return std::nullopt;
  }
  const std::size_t sample = sampleAt(steps, fromStep);
  const std::size_t size = std::size_t{1} << level();
  const std::size_t firstSample = sample / size * size;
  const std::size_t lastSample = std::min(firstSample + size, steps.size()) - 1;
  const auto row = static_cast<std::size_t>((position.y() - heat_.top()) / heat_.height() *
                                            static_cast<double>(rows_));
  const auto [first, behind] = parametersOf(std::min(row, rows_ - 1));
  const HeatPyramid& pyramid = facts_.pyramid(frame_.measure);
  // The first of the worst: of equal ones the earliest.
  ReplicaPlace worst{firstSample, first};
  for (std::size_t other = firstSample; other <= lastSample; ++other) {
    for (std::size_t parameter = first; parameter < behind; ++parameter) {
      if (pyramid.at(0, other, parameter) > pyramid.at(0, worst.sample, worst.parameter)) {
        worst = {other, parameter};
      }
    }
  }
  return worst;
}

std::optional<QRectF> ParameterScene::rectOf(const ReplicaPlace& place) const {
  const auto& replicas = facts_.divergence.replicas;
  if (heat_.isEmpty() || place.sample >= replicas.steps.size() ||
      place.parameter >= replicas.parameters) {
    return std::nullopt;
  }
  const std::size_t size = std::size_t{1} << level();
  const std::size_t first = place.sample / size * size;
  const double left = axis_.toX(stepOfSample(replicas.steps, first));
  // At least 3 px wide and high, or its frame would hide it.
  const double right = std::max(
      axis_.toX(stepOfSample(replicas.steps, std::min(first + size, replicas.steps.size()))),
      left + kNarrowest);
  const QRectF row = rowRect(rowOf(place.parameter));
  const QRectF rect(left, row.top(), right - left, std::max(row.height(), kNarrowest));
  return rect.intersects(heat_) ? std::optional(rect.intersected(heat_)) : std::nullopt;
}

}  // namespace lockstep::ui
