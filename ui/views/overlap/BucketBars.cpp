#include "ui/views/overlap/BucketBars.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/FlightBar.h"
#include "ui/chart/Legend.h"
#include "ui/chart/Plot.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

using analysis::BucketSample;

constexpr double kMargin = 12;
constexpr double kWords = 44;  // above the plot
constexpr double kScale = 64;  // left of it
constexpr double kBelow = 18;  // the first and the last iteration
constexpr double kNarrowest = 3;
constexpr double kWidest = 96;
constexpr double kIterations = 160;  // room for the numbers of the first and the last
constexpr double kAboveMost = 1.1;

}  // namespace

BucketBars::BucketBars(const BucketContent& content, std::size_t rank, int bucket,
                       const QRectF& area, const Palette& palette)
    : content_(content),
      palette_(palette),
      rank_(rank),
      bucket_(bucket),
      area_(area),
      plot_(area.adjusted(kMargin + kScale, kWords, -kMargin, -kBelow)) {
  const auto& samples = content_.delays.cell(rank_, bucket_).samples;
  if (samples.size() > 0 && plot_.width() > 0) {
    each_ = static_cast<std::size_t>(
        std::max(1.0, std::ceil(static_cast<double>(samples.size()) * kNarrowest / plot_.width())));
    width_ = std::min(kWidest, plot_.width() / static_cast<double>(bars()));
  }
  // The warm-up may go beyond: it would make all others flat.
  for (const BucketSample& sample : samples) {
    if (sample.step >= content_.firstMeasured || mostMs_ <= 0) {
      mostMs_ = std::max({mostMs_, figureOf(sample, CellFigure::kExposed).value_or(0),
                          figureOf(sample, CellFigure::kDuration).value_or(0)});
    }
  }
  mostMs_ = std::max(1e-6, mostMs_ * kAboveMost);
}

std::size_t BucketBars::bars() const {
  return (content_.delays.cell(rank_, bucket_).samples.size() + each_ - 1) / each_;
}

const BucketSample& BucketBars::sampleOf(std::size_t bar) const {
  const auto& samples = content_.delays.cell(rank_, bucket_).samples;
  const auto cost = [&](std::size_t at) {
    return figureOf(samples[at], CellFigure::kCost).value_or(-1);
  };
  std::size_t most = bar * each_;
  for (std::size_t at = most + 1; at < std::min(samples.size(), (bar + 1) * each_); ++at) {
    most = cost(at) > cost(most) ? at : most;
  }
  return samples[most];
}

// A narrower bar would be hidden by the mark.
bool BucketBars::marksExposed() const {
  return width_ >= 10;
}

double BucketBars::yOf(double ms) const {
  return std::round(plot_.bottom() - plot_.height() * std::min(1.0, ms / mostMs_));
}

const BucketSample* BucketBars::sampleAt(QPointF position) const {
  if (bars() == 0 || !plot_.contains(position)) {
    return nullptr;
  }
  const auto bar = static_cast<std::size_t>((position.x() - plot_.left()) / width_);
  return bar < bars() ? &sampleOf(bar) : nullptr;
}

std::optional<QPointF> BucketBars::positionOf(std::uint32_t step) const {
  const auto& samples = content_.delays.cell(rank_, bucket_).samples;
  const std::size_t at =
      run::firstWhere(samples, [&](const BucketSample& sample) { return sample.step >= step; });
  if (at == samples.size() || samples[at].step != step) {
    return std::nullopt;
  }
  return QPointF(plot_.left() + width_ * (static_cast<double>(at / each_) + 0.5),
                 plot_.bottom() - 2);
}

void BucketBars::draw(DisplayList& list, std::optional<std::uint32_t> marked) const {
  list.fill(QRectF(area_.left(), area_.top(), area_.width(), 1), palette_.gridStrong);
  drawWords(list);
  if (plot_.height() < 20 || bars() == 0) {
    return;
  }
  drawPlotGround(list, plot_, palette_);
  const double stepMs = roundStep(mostMs_, 4);
  for (double ms = stepMs; ms < mostMs_; ms += stepMs) {
    list.fill(QRectF(plot_.left(), yOf(ms), plot_.width(), 1), palette_.grid);
    list.note(QRectF(kMargin, yOf(ms) - 8, kScale - 6, 16), formatMs(ms), palette_, kToTheRight);
  }
  list.clip(plot_);
  for (std::size_t bar = 0; bar < bars(); ++bar) {
    drawBar(list, bar);
  }
  if (const auto foot = marked ? positionOf(*marked) : std::nullopt) {
    list.outline(QRectF(foot->x() - width_ / 2 - 1, plot_.top(), width_ + 2, plot_.height()),
                 palette_.accent, 2);
  }
  list.unclip();
  const auto& samples = content_.delays.cell(rank_, bucket_).samples;
  // Under the first and the last bar, however few there are.
  const double across = std::max(width_ * static_cast<double>(bars()), kIterations);
  const QRectF below(plot_.left(), plot_.bottom() + 1, std::min(across, plot_.width()), kBelow - 2);
  list.note(below, QStringLiteral("iteration %1").arg(formatCount(samples[0].step)), palette_);
  list.note(below, formatCount(samples[samples.size() - 1].step), palette_, kToTheRight);
}

void BucketBars::drawBar(DisplayList& list, std::size_t bar) const {
  const BucketSample& sample = sampleOf(bar);
  const double gap = width_ >= 5 ? 1 : 0;
  const double left = plot_.left() + width_ * static_cast<double>(bar);
  const auto between = [&](double from, double to) {
    return QRectF(left, yOf(to), width_ - gap, yOf(from) - yOf(to));
  };
  const auto waiting = figureOf(sample, CellFigure::kWaiting);
  const auto duration = figureOf(sample, CellFigure::kDuration);
  const double exposed = figureOf(sample, CellFigure::kExposed).value_or(0);
  if (waiting && duration) {
    drawSwatch(list, between(0, *waiting), swatchOf(FlightPart::kWaiting, palette_), 0);
    drawSwatch(list, between(*waiting, *duration), swatchOf(FlightPart::kTransfer, palette_), 0);
  } else {
    drawSwatch(list, between(0, exposed), swatchOf(FlightPart::kUndivided, palette_), 0);
  }
  if (marksExposed()) {
    // How much of it, not when; mostly it is the end.
    const double end = duration.value_or(exposed);
    markExposed(list, between(std::max(0.0, end - exposed), end), Qt::LeftEdge, palette_);
  }
  if (const auto cost = figureOf(sample, CellFigure::kCost)) {
    list.fill(QRectF(left, yOf(*cost) - 1, width_ - gap, 2), palette_.text);
  }
}

void BucketBars::drawWords(DisplayList& list) const {
  const BucketContent::Measured& cost =
      content_.cell(rank_, bucket_)[static_cast<std::size_t>(CellFigure::kCost)];
  QString title = QStringLiteral("rank %1, bucket %2, iteration by iteration")
                      .arg(content_.delays.ranks[rank_])
                      .arg(bucket_);
  if (cost.meanMs) {
    title += QStringLiteral("  ·  costs %1 a step").arg(formatMs(*cost.meanMs));
  }
  list.title(QRectF(kMargin, area_.top() + 4, area_.width() - 2 * kMargin, 20), title, palette_);
  std::vector<LegendEntry> entries{
      {swatchOf(FlightPart::kWaiting, palette_), QStringLiteral("waiting")},
      {swatchOf(FlightPart::kTransfer, palette_), QStringLiteral("transfer")}};
  if (marksExposed()) {
    entries.push_back(exposedEntry(palette_));
  }
  entries.push_back({{palette_.text, {}, true}, QStringLiteral("cost of it")});
  drawLegend(list, QRectF(kMargin, area_.top() + 24, area_.width() - 2 * kMargin, 18), entries,
             palette_);
}

void BucketBars::drawCard(DisplayList& list, QSizeF size, QPointF pointer) const {
  const BucketSample* sample = sampleAt(pointer);
  if (sample == nullptr) {
    return;
  }
  Facts lines;
  for (std::size_t i = 0; i < kCellFigures; ++i) {
    const auto figure = static_cast<CellFigure>(i);
    const auto value = figureOf(*sample, figure);
    lines.push_back({titleOf(figure), value ? formatMs(*value) : QStringLiteral("unknown")});
  }
  if (each_ > 1) {
    lines.add("Of",
              QStringLiteral("the iteration that costs most of %1 that share this bar").arg(each_));
  }
  drawFactCard(list, size, pointer,
               QStringLiteral("rank %1, bucket %2, iteration %3")
                   .arg(content_.delays.ranks[rank_])
                   .arg(bucket_)
                   .arg(formatCount(sample->step)),
               {}, lines, palette_);
}

}  // namespace lockstep::ui
