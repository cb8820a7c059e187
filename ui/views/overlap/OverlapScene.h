#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/Card.h"
#include "ui/views/overlap/OverlapContent.h"

namespace lockstep::ui {

/// One step of one rank.
struct OverlapStep {
  int rank = 0;
  std::uint32_t step = 0;
  bool operator==(const OverlapStep&) const = default;
};

/// What one frame of the overlap view is about, beside its content.
struct OverlapFrame {
  QSizeF size;
  double firstStep = 0;  ///< the visible steps, from here on up to before lastStep
  double lastStep = 1;
  double scrollY = 0;
  std::optional<int> rank;  ///< whose causes are listed; none: those of all ranks
  std::optional<OverlapStep> selected;
  std::optional<QPointF> pointer{};  ///< shows a card
  std::vector<int> shown{};          ///< ranks that were chosen; empty: none was
  bool live = false;
  bool headed = true;  ///< with the headline; not where that stands above it already
};

/// Draws one frame of the overlap view: a bar for each step and rank, cut into its parts, with
/// the bounds that they cannot fall below, and why the exposed part is there.
class OverlapScene {
 public:
  /// The place of one rank's bars.
  struct Row {
    const OverlapContent::Rank* rank = nullptr;
    const char* why = "";  ///< it is shown among many
    QRectF label;
    QRectF plot;
  };
  /// The place of one cause in the list.
  struct ReasonBox {
    QRectF rect;
    std::size_t index = 0;  ///< in OverlapContent::reasonsOf
  };

  OverlapScene(const OverlapContent& content, const Palette& palette, OverlapFrame frame);

  void draw(DisplayList& list);

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// Of what all ranks of a run of many have exposed; empty in a run of few.
  [[nodiscard]] const QRectF& spreadPlot() const { return spread_.plot; }
  [[nodiscard]] std::optional<int> labelAt(QPointF position) const;
  /// The step whose bar, or the space above it, lies there; where a bar stands for many steps,
  /// the longest of them.
  [[nodiscard]] std::optional<OverlapStep> stepAt(QPointF position) const;
  [[nodiscard]] std::optional<std::size_t> reasonAt(QPointF position) const;
  /// What the glossary has on what is drawn there: a cause, the bounds, else exposed time.
  [[nodiscard]] QString headingAt(QPointF position) const;
  /// The middle of a step's column; nothing when it is out of sight.
  [[nodiscard]] std::optional<QPointF> positionOf(const OverlapStep& step) const;
  [[nodiscard]] std::optional<QPointF> positionOfReason(std::size_t index) const;
  /// Where bars may lie.
  [[nodiscard]] const QRectF& charts() const { return charts_; }
  [[nodiscard]] double stepOf(double x) const;
  [[nodiscard]] double pixelsPerStep() const;
  /// How far the ranks can be scrolled.
  [[nodiscard]] double maximumScroll() const { return maximumScroll_; }

  static QColor colourOf(OverlapPart part, const Palette& palette);
  /// Parts that a hatch tells apart, too.
  static bool isHatched(OverlapPart part);
  static Swatch swatchOf(OverlapPart part, const Palette& palette);
  static QString nameOf(OverlapPart part);

 private:
  /// A run of steps that share a bar.
  struct Bar {
    std::uint32_t first = 0;  ///< step number
    std::uint32_t last = 0;
    std::size_t begin = 0;  ///< entries of the rank
    std::size_t end = 0;
    double left = 0;
    double right = 0;
    OverlapParts parts{};  ///< mean
    double wholeMs = 0;
  };

  /// What a bar of all ranks shows: of the steps that share it, the least of the least, the mean of
  /// the quartiles and the most of the most.
  struct SpreadBar {
    OverlapContent::Spread spread;
    std::uint32_t last = 0;
    double left = 0;
    double right = 0;
  };

  void layOut();
  [[nodiscard]] std::vector<Row> chosenRows() const;
  [[nodiscard]] std::optional<SpreadBar> spreadAt(std::uint32_t step) const;
  void drawSpread(DisplayList& list) const;
  void drawSpreadLabel(DisplayList& list) const;
  [[nodiscard]] Card spreadCard(const SpreadBar& bar) const;
  void layOutReasons(const QRectF& list);
  /// The parts that any rank has.
  [[nodiscard]] std::vector<LegendEntry> legendEntries() const;
  /// As bars are filled: where they are too narrow for a hatch, with a tint of the colour.
  [[nodiscard]] Swatch barSwatchOf(OverlapPart part) const;
  [[nodiscard]] bool hasRoomForHatches() const;
  /// Of a cause with all of its words.
  static double reasonHeight(const analysis::TailReason& reason, double width);
  [[nodiscard]] std::uint32_t stepsPerBar() const;
  [[nodiscard]] double xOf(double step) const;
  /// Of the bar of the steps from one up to before another.
  [[nodiscard]] std::pair<double, double> edgesOf(std::uint32_t first, std::uint64_t next) const;
  [[nodiscard]] double yOf(const Row& row, double ms) const;
  [[nodiscard]] std::optional<Bar> barAt(const Row& row, std::uint32_t step) const;

  void drawHeader(DisplayList& list) const;
  void drawRuler(DisplayList& list) const;
  void drawRow(DisplayList& list, const Row& row) const;
  void drawLabel(DisplayList& list, const Row& row) const;
  void drawWarmUp(DisplayList& list, const Row& row) const;
  void drawBar(DisplayList& list, const Row& row, const Bar& bar) const;
  void drawBounds(DisplayList& list, const Row& row) const;
  void drawSelection(DisplayList& list, const Row& row) const;
  void drawSide(DisplayList& list) const;
  void drawReason(DisplayList& list, const ReasonBox& box) const;
  void drawLadder(DisplayList& list) const;
  void drawHover(DisplayList& list) const;
  [[nodiscard]] std::optional<Card> cardAt(QPointF at) const;
  [[nodiscard]] Card stepCard(const Row& row, const Bar& bar) const;
  static Card rankCard(const Row& row);
  static Card reasonCard(const analysis::TailReason& reason);
  [[nodiscard]] const OverlapContent::Rank* ladderRank() const;
  /// With all of its words in lines of this width.
  [[nodiscard]] double ladderHeight(double width) const;

  const OverlapContent& content_;
  const Palette& palette_;
  const OverlapFrame frame_;
  QRectF header_;
  QRectF ruler_;
  QRectF charts_;
  QRectF legend_;
  QRectF side_;
  QRectF ladder_;
  double maximumScroll_ = 0;
  Row spread_;  // of no rank
  std::vector<Row> rows_;
  std::vector<ReasonBox> reasons_;
  std::size_t reasonsLeftOut_ = 0;
  QRectF leftOut_;  // where their number stands
};

}  // namespace lockstep::ui
