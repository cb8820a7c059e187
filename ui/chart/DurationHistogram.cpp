#include "ui/chart/DurationHistogram.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/Plot.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kPixelsABin = 9;
constexpr double kNsPerMs = 1e6;
constexpr double kShortestMs = 1e-5;  // of an axis, where all took no time
constexpr float kIntervalAlpha = 0.2f;
constexpr double kDashes = 8;          // px from one dash to the next
constexpr std::size_t kLabelRows = 2;  // of names of percentiles: those of two runs may be close

class HistogramDrawing {
 public:
  HistogramDrawing(DisplayList& list, const HistogramFrame& frame, const Palette& palette)
      : list_(list), frame_(frame), palette_(palette), line_(lineHeight(FontRole::kSmall)) {}

  void draw() {
    if (!chooseRange()) {
      list_.text(frame_.rect, frame_.none, palette_.textMuted, FontRole::kNormal, Qt::AlignCenter);
      return;
    }
    drawLegend();
    drawAxis();
    if (frame_.forecast) {
      drawForecast(*frame_.forecast);
    }
    for (std::size_t run = 0; run < frame_.runs.size(); ++run) {
      drawBars(run);
    }
    for (std::size_t run = 0; run < frame_.runs.size(); ++run) {
      drawPercentiles(run);
    }
    drawPointer();
  }

 private:
  bool chooseRange() {
    double from = 0;
    double to = 0;
    double most = 0;
    bool any = false;
    for (const HistogramRun& run : frame_.runs) {
      if (run.durations != nullptr && run.durations->count() > 0) {
        most = std::max(most, static_cast<double>(run.durations->count()));
        from = any ? std::min(from, run.durations->values.at(0)) : run.durations->values.at(0);
        to = std::max(to, run.durations->p99);
        any = true;
      }
    }
    // The axis ends at the longest P99, so a single outlier does not squeeze all others into one
    // bin; what lies beyond is said in the legend.
    if (frame_.forecast) {
      from = std::min(from, frame_.forecast->lowMs);
      to = std::max(to, frame_.forecast->highMs);
    }
    const double room = std::max((to - from) * 0.02, to * 1e-3);
    const auto words = static_cast<double>(frame_.runs.size() + (frame_.forecast ? 1 : 0));
    plot_ = frame_.rect.adjusted(0, (line_ + 4) * words + line_ * labelRows() + 6, 0, -line_ - 4);
    if (!any || plot_.width() < 20 || plot_.height() < 10) {
      return false;
    }
    scale_ = {std::max(0.0, from - room), std::max(to + room, kShortestMs), plot_.left(),
              plot_.right()};
    // As many as there is room for, and not so many that most hold a value or two.
    bins_ = static_cast<std::size_t>(std::clamp(std::floor(plot_.width() / kPixelsABin), 4.0,
                                                std::max(12.0, 2 * std::sqrt(most))));
    for (const HistogramRun& run : frame_.runs) {
      histograms_.push_back(
          run.durations == nullptr
              ? analysis::Histogram{}
              : analysis::histogram(*run.durations, scale_.from, scale_.to, bins_));
      for (std::size_t bin = 0; bin < histograms_.back().counts.size(); ++bin) {
        tallest_ = std::max(tallest_, share(histograms_.size() - 1, bin));
      }
    }
    return tallest_ > 0;
  }

  // Of the run's own values, so that runs of different length can be laid over each other.
  [[nodiscard]] double share(std::size_t run, std::size_t bin) const {
    return histograms_[run].counts[bin] / static_cast<double>(frame_.runs[run].durations->count());
  }

  [[nodiscard]] double binWidth() const { return plot_.width() / static_cast<double>(bins_); }

  void drawLegend() {
    double y = frame_.rect.top();
    for (std::size_t i = 0; i < frame_.runs.size(); ++i) {
      const HistogramRun& run = frame_.runs[i];
      drawBar(i, QRectF(frame_.rect.left(), y + 2, 16, line_ - 4));
      QString text = run.name.isEmpty() ? QString() : run.name + QStringLiteral("   ");
      if (run.durations == nullptr || run.durations->count() == 0) {
        text += QStringLiteral("has none");
      } else {
        text += QStringLiteral("%1 values, P50 %2, P90 %3, P99 %4")
                    .arg(formatCount(run.durations->count()), formatMs(run.durations->p50),
                         formatMs(run.durations->p90), formatMs(run.durations->p99));
        if (histograms_[i].beyond > 0) {
          text += QStringLiteral(", %1 longer than shown, up to %2")
                      .arg(formatCount(histograms_[i].beyond), formatMs(run.durations->max));
        }
      }
      list_.label(QRectF(frame_.rect.left() + 24, y, frame_.rect.width() - 24, line_), text,
                  palette_);
      y += line_ + 4;
    }
    if (frame_.forecast) {
      const QRectF swatch(frame_.rect.left(), y + 2, 16, line_ - 4);
      list_.fill(swatch, withAlpha(palette_.measure, kIntervalAlpha));
      list_.fill(QRectF(swatch.center().x() - 1, swatch.top(), 2, swatch.height()),
                 palette_.measure);
      list_.label(QRectF(frame_.rect.left() + 24, y, frame_.rect.width() - 24, line_),
                  QStringLiteral("forecast %1, from %2 to %3")
                      .arg(formatMs(frame_.forecast->ms), formatMs(frame_.forecast->lowMs),
                           formatMs(frame_.forecast->highMs)),
                  palette_);
    }
  }

  void drawForecast(const HistogramForecast& forecast) {
    const double left = scale_.at(forecast.lowMs);
    list_.fill(QRectF(left, plot_.top(), scale_.at(forecast.highMs) - left, plot_.height()),
               withAlpha(palette_.measure, kIntervalAlpha));
    list_.fill(QRectF(scale_.at(forecast.ms) - 1, plot_.top(), 2, plot_.height()),
               palette_.measure);
  }

  void drawAxis() {
    drawAxisBelow(
        list_, plot_, scale_, 90,
        [this](double ms, double step) {
          return formatTime(ms * kNsPerMs, step * kNsPerMs, scale_.to * kNsPerMs);
        },
        palette_, true);
    list_.line(plot_.bottomLeft(), plot_.bottomRight(), palette_.gridStrong);
    // What the tallest bar is.
    const QString share = formatPercent(100 * tallest_, tallest_ < 0.1 ? 1 : 0);
    list_.line(plot_.topLeft(), plot_.topRight(), palette_.grid);
    labels_.emplace_back(plot_.left(), plot_.top() - line_ - 3,
                         textWidth(share, FontRole::kSmall) + 6, line_);
    list_.note(labels_.back(), share, palette_);
  }

  void drawBar(std::size_t run, const QRectF& bar) {
    QColor colour = frame_.runs[run].colour;
    if (run == 0) {
      // Half transparent, so that the grid and the bars of the next run can be seen through it.
      colour.setAlpha(150);
      list_.fill(bar, colour);
      return;
    }
    QColor ground = colour;
    ground.setAlpha(50);
    list_.fill(bar, ground);
    list_.hatch(bar, colour);
    list_.outline(bar, colour);
  }

  void drawBars(std::size_t run) {
    for (std::size_t bin = 0; bin < histograms_[run].counts.size(); ++bin) {
      const double height = plot_.height() * share(run, bin) / tallest_;
      if (height > 0) {
        drawBar(run, QRectF(plot_.left() + binWidth() * static_cast<double>(bin),
                            plot_.bottom() - height, binWidth() - 1, height));
      }
    }
  }

  [[nodiscard]] double labelRows() const {
    return static_cast<double>(std::min(frame_.runs.size(), kLabelRows));
  }

  /// `dash` of each kDashes pixels are drawn; all of them: a line.
  void drawMark(std::size_t run, double ms, const QString& percentile, double dash) {
    const double x = scale_.at(ms);
    const QColor& colour = frame_.runs[run].colour;
    if (dash < kDashes) {
      for (double y = plot_.top(); y < plot_.bottom(); y += kDashes) {
        list_.line({x, y}, {x, std::min(y + dash, plot_.bottom())}, colour, 1.5);
      }
    } else {
      list_.line({x, plot_.top()}, {x, plot_.bottom()}, colour, 2);
    }
    const QString name = (letterOf(run) + u' ' + percentile).trimmed();
    const double top =
        plot_.top() - 3 - line_ * (labelRows() - static_cast<double>(run % kLabelRows));
    for (const QString& text : {name + u' ' + formatMs(ms), name}) {
      const double width = textWidth(text, FontRole::kSmall) + 6;
      // Right of what the tallest bar is, at the left edge.
      const double left =
          std::max(labels_.front().right(), std::min(x - width / 2, plot_.right() - width));
      const QRectF place(left, top, width, line_);
      // Names that lie close would cover each other: the first stays, and the legend has all.
      if (std::ranges::none_of(labels_,
                               [&](const QRectF& taken) { return taken.intersects(place); })) {
        labels_.push_back(place);
        list_.label(place, text, palette_, Qt::AlignCenter);
        return;
      }
    }
  }

  void drawPercentiles(std::size_t run) {
    const analysis::Durations* durations = frame_.runs[run].durations;
    if (durations != nullptr && durations->count() > 0) {
      drawMark(run, durations->p50, QStringLiteral("P50"), kDashes);
      drawMark(run, durations->p90, QStringLiteral("P90"), kDashes / 2);
      drawMark(run, durations->p99, QStringLiteral("P99"), kDashes / 4);
    }
  }

  [[nodiscard]] QString letterOf(std::size_t run) const {
    return frame_.runs[run].name.section(u' ', 0, 0);
  }

  void drawPointer() {
    if (!frame_.pointer || !plot_.contains(*frame_.pointer)) {
      return;
    }
    // At the right edge the division may give one bin too many.
    const auto bin = std::min(
        bins_ - 1, static_cast<std::size_t>((frame_.pointer->x() - plot_.left()) / binWidth()));
    const double left = plot_.left() + binWidth() * static_cast<double>(bin);
    list_.outline(QRectF(left, plot_.top(), binWidth(), plot_.height()), palette_.hover);
    Card card{formatMs(scale_.valueAt(left)) + QStringLiteral(" to ") +
                  formatMs(scale_.valueAt(left + binWidth())),
              {},
              {},
              {}};
    for (std::size_t run = 0; run < frame_.runs.size(); ++run) {
      if (!histograms_[run].counts.empty()) {
        card.lines.emplace_back(
            letterOf(run), QStringLiteral("%1 (%2)").arg(formatCount(histograms_[run].counts[bin]),
                                                         formatPercent(100 * share(run, bin))));
      }
    }
    drawCard(list_, QSizeF(frame_.rect.right(), frame_.rect.bottom()), *frame_.pointer, card,
             palette_);
  }

  DisplayList& list_;
  const HistogramFrame& frame_;
  const Palette& palette_;
  const double line_;
  QRectF plot_;
  Scale scale_;
  std::size_t bins_ = 1;
  std::vector<analysis::Histogram> histograms_;
  std::vector<QRectF> labels_;
  double tallest_ = 0;
};

}  // namespace

void drawHistogram(DisplayList& list, const HistogramFrame& frame, const Palette& palette) {
  HistogramDrawing(list, frame, palette).draw();
}

}  // namespace lockstep::ui
