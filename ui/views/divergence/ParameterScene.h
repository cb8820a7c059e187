#pragma once

#include <QRectF>
#include <QSizeF>
#include <QString>
#include <QStringList>
#include <optional>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/TimeAxis.h"
#include "ui/model/SpanFacts.h"
#include "ui/views/divergence/DivergenceFacts.h"
#include "ui/views/divergence/HeatRuns.h"

namespace lockstep::ui {

/// One parameter at one sample.
struct ReplicaPlace {
  std::size_t sample = 0;
  std::size_t parameter = 0;
  bool operator==(const ReplicaPlace&) const = default;
};

/// What the run's replicas are, in a sentence.
struct Verdict {
  /// kDrift: they differ as their hook says; kUnsound: they do not differ against it, but something
  /// in the run is no finite number.
  enum class Kind : std::uint8_t { kEqual, kDiffer, kDrift, kUnsound, kUnknown };
  [[nodiscard]] bool isBad() const { return kind == Kind::kDiffer || kind == Kind::kUnsound; }
  Kind kind = Kind::kUnknown;
  QString title;  ///< "All ranks equal for 412 iterations"
  QString more;
};
Verdict verdictOf(const DivergenceFacts& facts);

/// The lines that turn fingerprints on in an experiment file.
QString fingerprintSetting();

struct ParameterFrame {
  QSizeF size;
  double firstStep = 0;  ///< the visible steps
  double endStep = 0;
  HeatMeasure measure = HeatMeasure::kHashes;
  std::optional<ReplicaPlace> selected;
  std::optional<QPointF> pointer;
};

/// Draws what the replicas are: the verdict, strips of loss, gradient norm and consensus distance,
/// and the heat map of parameter by iteration under them, over one axis of steps. Holds nothing
/// beyond a frame.
class ParameterScene {
 public:
  ParameterScene(const DivergenceFacts& facts, const Palette& palette, ParameterFrame frame);

  void draw(DisplayList& list) const;

  /// The axis of steps of a canvas of that width.
  static TimeAxis axisFor(double width, double firstStep, double endStep);
  [[nodiscard]] const TimeAxis& axis() const { return axis_; }
  /// The cell under a point; the worst of those that one pixel stands for.
  [[nodiscard]] std::optional<ReplicaPlace> placeAt(QPointF position) const;
  /// Where a cell is drawn, with those that share its pixels; nothing when it is out of sight.
  [[nodiscard]] std::optional<QRectF> rectOf(const ReplicaPlace& place) const;
  /// The height that shows each parameter in a row that can be read.
  [[nodiscard]] double comfortableHeight() const;

 private:
  void drawVerdict(DisplayList& list) const;
  void drawNothingSampled(DisplayList& list) const;
  void drawHeatMap(DisplayList& list) const;
  void drawRow(DisplayList& list, std::size_t row) const;
  void drawRun(DisplayList& list, const QRectF& rect, std::int16_t badness) const;
  void drawRowLabels(DisplayList& list) const;
  void drawMarks(DisplayList& list) const;
  void drawPointer(DisplayList& list) const;
  /// The level of the pyramid whose blocks are wide enough to be drawn.
  [[nodiscard]] std::size_t level() const;
  [[nodiscard]] std::size_t stripAt(QPointF position) const;
  [[nodiscard]] QRectF stripPlot(std::size_t strip) const;
  /// The parameters that a row stands for: from the first, up to but without the second.
  [[nodiscard]] std::pair<std::size_t, std::size_t> parametersOf(std::size_t row) const;
  [[nodiscard]] std::size_t rowOf(std::size_t parameter) const;
  [[nodiscard]] QRectF rowRect(std::size_t row) const;
  [[nodiscard]] HeatRow heatRow(std::pair<std::size_t, std::size_t> parameters) const;

  const DivergenceFacts& facts_;
  const Palette& palette_;
  const ParameterFrame frame_;
  const TimeAxis axis_;
  const Verdict verdict_;
  QStringList lines_;  // of what the verdict says beside its title
  double top_ = 0;     // of the strips
  QRectF heat_;        // empty: no room, or nothing was sampled
  std::size_t rows_ = 0;
};

/// Returns what there is to say of the iterations after a sample that is the last equal one.
std::vector<Fact> factsBetween(const DivergenceFacts& facts, const ReplicaPlace& last);

/// Returns what there is to say of a cell: the parameter, the ranks that differ, hashes and norms.
std::vector<Fact> factsOf(const DivergenceFacts& facts, const ReplicaPlace& place);

}  // namespace lockstep::ui
