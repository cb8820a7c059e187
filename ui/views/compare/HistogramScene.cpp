#include "ui/views/compare/HistogramScene.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/TimeAxis.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kMargin = 10;
constexpr double kRightMargin = 16;
constexpr double kPixelsABin = 9;
constexpr double kNsPerMs = 1e6;

class Drawing {
 public:
  Drawing(DisplayList& list, const HistogramFrame& frame, const Palette& palette)
      : list_(list), frame_(frame), palette_(palette), line_(lineHeight(FontRole::kSmall)) {}

  void draw() {
    list_.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
    if (!chooseRange()) {
      list_.text(QRectF(QPointF(0, 0), frame_.size),
                 QStringLiteral("No measured iteration has it."), palette_.textMuted,
                 FontRole::kNormal, Qt::AlignCenter);
      return;
    }
    drawLegend();
    drawAxis();
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
        from = any ? std::min(from, run.durations->sorted.front()) : run.durations->sorted.front();
        to = std::max(to, run.durations->p99);
        any = true;
      }
    }
    const double room = std::max((to - from) * 0.02, to * 1e-3);
    const double top = kMargin + (line_ + 4) * static_cast<double>(frame_.runs.size()) + line_ + 6;
    plot_ = QRectF(kMargin, top, frame_.size.width() - kMargin - kRightMargin,
                   frame_.size.height() - top - line_ - 12);
    if (!any || plot_.width() < 20 || plot_.height() < 10) {
      return false;
    }
    axis_ = TimeAxis(std::max(0.0, from - room) * kNsPerMs, (to + room) * kNsPerMs, plot_.left(),
                     plot_.width());
    // As many as there is room for, and not so many that most hold a value or two.
    bins_ = static_cast<std::size_t>(std::clamp(std::floor(plot_.width() / kPixelsABin), 4.0,
                                                std::max(12.0, 2 * std::sqrt(most))));
    for (const HistogramRun& run : frame_.runs) {
      histograms_.push_back(run.durations == nullptr
                                ? analysis::Histogram{}
                                : analysis::histogram(*run.durations, axis_.startNs() / kNsPerMs,
                                                      axis_.endNs() / kNsPerMs, bins_));
      for (std::size_t bin = 0; bin < histograms_.back().counts.size(); ++bin) {
        tallest_ = std::max(tallest_, share(histograms_.size() - 1, bin));
      }
    }
    return tallest_ > 0;
  }

  [[nodiscard]] double share(std::size_t run, std::size_t bin) const {
    return histograms_[run].counts[bin] / static_cast<double>(frame_.runs[run].durations->count());
  }

  [[nodiscard]] double binWidth() const { return plot_.width() / static_cast<double>(bins_); }

  void drawLegend() {
    double y = kMargin;
    for (std::size_t i = 0; i < frame_.runs.size(); ++i) {
      const HistogramRun& run = frame_.runs[i];
      const QRectF swatch(kMargin, y + 2, 16, line_ - 4);
      drawBar(i, swatch);
      QString text = run.name;
      if (run.durations == nullptr || run.durations->count() == 0) {
        text += QStringLiteral("   has none");
      } else {
        text += QStringLiteral("   %1 values, P50 %2, P90 %3")
                    .arg(formatCount(run.durations->count()), formatMs(run.durations->p50),
                         formatMs(run.durations->p90));
        if (histograms_[i].beyond > 0) {
          text += QStringLiteral(", %1 longer than shown").arg(formatCount(histograms_[i].beyond));
        }
      }
      list_.text(QRectF(kMargin + 24, y, frame_.size.width() - kMargin - 34, line_), text,
                 palette_.text, FontRole::kSmall);
      y += line_ + 4;
    }
  }

  void drawAxis() {
    for (const TimeAxis::Tick& tick : axis_.ticks()) {
      list_.line({tick.x, plot_.top()}, {tick.x, plot_.bottom()},
                 tick.major ? palette_.gridStrong : palette_.grid);
      if (tick.major && tick.x < plot_.right() - 20) {
        list_.text(QRectF(tick.x - 45, plot_.bottom() + 4, 90, line_),
                   formatTime(tick.ns, axis_.labelStepNs(), axis_.endNs()), palette_.textMuted,
                   FontRole::kSmall, Qt::AlignHCenter | Qt::AlignVCenter);
      }
    }
    list_.line(plot_.bottomLeft(), plot_.bottomRight(), palette_.gridStrong);
  }

  void drawBar(std::size_t run, const QRectF& bar) {
    QColor colour = palette_.rank(static_cast<int>(run));
    if (run == 0) {
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

  void drawMark(std::size_t run, double ms, const QString& name, bool dashed) {
    const double x = axis_.toX(ms * kNsPerMs);
    const QColor colour = palette_.rank(static_cast<int>(run));
    if (dashed) {
      for (double y = plot_.top(); y < plot_.bottom(); y += 8) {
        list_.line({x, y}, {x, std::min(y + 4, plot_.bottom())}, colour, 1.5);
      }
    } else {
      list_.line({x, plot_.top()}, {x, plot_.bottom()}, colour, 2);
    }
    const double width = textWidth(name, FontRole::kSmall) + 4;
    const double left = std::clamp(x - width / 2, plot_.left(), plot_.right() - width);
    for (const QRectF& taken : labels_) {
      if (taken.left() < left + width && left < taken.right()) {
        return;  // the legend has the figure
      }
    }
    const QRectF place(left, plot_.top() - line_ - 3, width, line_);
    labels_.push_back(place);
    list_.text(place, name, palette_.text, FontRole::kSmall, Qt::AlignCenter);
  }

  void drawPercentiles(std::size_t run) {
    const analysis::Durations* durations = frame_.runs[run].durations;
    if (durations != nullptr && durations->count() > 0) {
      const QString letter = frame_.runs[run].name.section(u' ', 0, 0);
      drawMark(run, durations->p50, letter + QStringLiteral(" P50"), false);
      drawMark(run, durations->p90, letter + QStringLiteral(" P90"), true);
    }
  }

  void drawPointer() {
    if (!frame_.pointer || !plot_.contains(*frame_.pointer)) {
      return;
    }
    const auto bin = std::min(
        bins_ - 1, static_cast<std::size_t>((frame_.pointer->x() - plot_.left()) / binWidth()));
    const double left = plot_.left() + binWidth() * static_cast<double>(bin);
    list_.outline(QRectF(left, plot_.top(), binWidth(), plot_.height()), palette_.hover);
    QStringList lines{formatDuration(axis_.toNs(left)) + QStringLiteral(" to ") +
                      formatDuration(axis_.toNs(left + binWidth()))};
    for (std::size_t run = 0; run < frame_.runs.size(); ++run) {
      if (!histograms_[run].counts.empty()) {
        lines << QStringLiteral("%1: %2 (%3)")
                     .arg(frame_.runs[run].name.section(u' ', 0, 0),
                          formatCount(histograms_[run].counts[bin]),
                          formatPercent(100 * share(run, bin)));
      }
    }
    drawCard(lines);
  }

  void drawCard(const QStringList& lines) {
    double width = 0;
    for (const QString& line : lines) {
      width = std::max(width, textWidth(line, FontRole::kSmall));
    }
    const QSizeF size(width + 16, (line_ + 2) * static_cast<double>(lines.size()) + 10);
    double x = frame_.pointer->x() + 14;
    if (x + size.width() > frame_.size.width()) {
      x = frame_.pointer->x() - 14 - size.width();
    }
    const QRectF card(QPointF(std::max(0.0, x), plot_.top() + 4), size);
    list_.fill(card, palette_.raised, 4);
    list_.outline(card, palette_.gridStrong, 4);
    double y = card.top() + 5;
    for (const QString& line : lines) {
      list_.text(QRectF(card.left() + 8, y, width + 2, line_), line, palette_.text,
                 FontRole::kSmall);
      y += line_ + 2;
    }
  }

  DisplayList& list_;
  const HistogramFrame& frame_;
  const Palette& palette_;
  const double line_;
  QRectF plot_;
  TimeAxis axis_;
  std::size_t bins_ = 1;
  std::vector<analysis::Histogram> histograms_;
  std::vector<QRectF> labels_;
  double tallest_ = 0;
};

}  // namespace

void drawHistogram(DisplayList& list, const HistogramFrame& frame, const Palette& palette) {
  Drawing(list, frame, palette).draw();
}

}  // namespace lockstep::ui
