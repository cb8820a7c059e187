#pragma once

#include <QPointF>
#include <optional>
#include <vector>

namespace lockstep::ui {

/// The mapping between time in ns and a horizontal stretch of pixels, and its verbs.
class TimeAxis {
 public:
  static constexpr double kMinimumNs = 10;  ///< the narrowest stretch of time shown

  /// A line of the time grid.
  struct Tick {
    double ns = 0;
    double x = 0;
    bool major = false;  ///< carries a label
  };

  TimeAxis() = default;
  /// Shows startNs..endNs over left..left+width.
  TimeAxis(double startNs, double endNs, double left, double width);

  [[nodiscard]] double startNs() const { return startNs_; }
  [[nodiscard]] double endNs() const { return endNs_; }
  [[nodiscard]] double lengthNs() const { return endNs_ - startNs_; }
  [[nodiscard]] double left() const { return left_; }
  [[nodiscard]] double right() const { return left_ + width_; }
  [[nodiscard]] double width() const { return width_; }

  [[nodiscard]] double toX(double ns) const { return left_ + (ns - startNs_) / nsPerPixel(); }
  [[nodiscard]] double toNs(double x) const { return startNs_ + (x - left_) * nsPerPixel(); }
  [[nodiscard]] double nsPerPixel() const { return width_ > 0 ? lengthNs() / width_ : 1; }

  /// Returns the axis with `factor` times the length; the time under `x` stays under it.
  [[nodiscard]] TimeAxis zoomed(double factor, double x) const;
  /// The same about a pointer where that is over the axis, else about the middle.
  [[nodiscard]] TimeAxis zoomedAbout(double factor, const std::optional<QPointF>& pointer) const;
  /// Returns the axis moved by that many pixels of content to the left.
  [[nodiscard]] TimeAxis panned(double pixels) const;
  /// Returns the axis kept in sight of firstNs..lastNs: never longer than 1.2 times it, and
  /// with some of it in view.
  [[nodiscard]] TimeAxis clamped(double firstNs, double lastNs) const;

  /// The distance between labels: 1, 2 or 5 times a power of ten ns, so that labels are at
  /// least `minimumPixels` apart.
  [[nodiscard]] double labelStepNs(double minimumPixels = 90) const;
  /// The lines of the grid, five or four to a label, within the axis.
  [[nodiscard]] std::vector<Tick> ticks(double minimumPixels = 90) const;

 private:
  double startNs_ = 0;
  double endNs_ = 1e9;
  double left_ = 0;
  double width_ = 1;
};

}  // namespace lockstep::ui
