#pragma once

#include <QRectF>
#include <QSizeF>
#include <QString>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/model/SpanFacts.h"
#include "ui/views/divergence/DivergenceFacts.h"

namespace lockstep::ui {

/// A call of one rank in one row of a sequence; without a rank, the row.
struct CallPlace {
  std::size_t row = 0;
  std::optional<std::size_t> column;
  bool operator==(const CallPlace&) const = default;
};

struct SequenceFrame {
  QSizeF size;
  std::size_t sequence = 0;   ///< index into DivergenceFacts::sequences
  bool suspectsOnly = false;  ///< leaves out the rows that match
  double scroll = 0;          ///< px from the top of the rows
  std::optional<CallPlace> selected;
  std::optional<QPointF> pointer;
};

/// Draws the calls of one group, a row a number and a column a rank, so that what stands side by
/// side met on the wire. Of many ranks those have a column that stand against the majority, and the
/// first. A frame costs what is in sight, however long the run.
class SequenceScene {
 public:
  static constexpr double kHeader = 30;
  static constexpr double kRow = 24;

  SequenceScene(const DivergenceFacts& facts, const Palette& palette, SequenceFrame frame);

  void draw(DisplayList& list) const;

  [[nodiscard]] double contentHeight() const { return kRow * static_cast<double>(lines()); }
  [[nodiscard]] double maximumScroll() const;
  [[nodiscard]] std::optional<CallPlace> placeAt(QPointF position) const;
  /// Where a cell is; nothing when its row is left out or out of sight.
  [[nodiscard]] std::optional<QRectF> rectOf(const CallPlace& place) const;
  /// How far to scroll so that a row stands in the middle.
  [[nodiscard]] double scrollTo(std::size_t row) const;
  /// The row whose mark in the overview at the right edge lies at a point; nothing beside it.
  [[nodiscard]] std::optional<std::size_t> overviewRowAt(QPointF position) const;

 private:
  [[nodiscard]] const analysis::CallSequence& sequence() const;
  [[nodiscard]] std::size_t lines() const;
  [[nodiscard]] std::size_t rowOfLine(std::size_t line) const;
  [[nodiscard]] std::optional<std::size_t> lineOfRow(std::size_t row) const;
  [[nodiscard]] std::vector<std::size_t> chosenColumns() const;
  /// Of a place in `columns_`.
  [[nodiscard]] QRectF columnRect(std::size_t place) const;
  /// The cell of a column in a row that begins there; the whole row where it is not shown.
  [[nodiscard]] QRectF cellRect(std::optional<std::size_t> column, double top) const;
  [[nodiscard]] double lineTop(std::size_t line) const;
  void drawHeader(DisplayList& list) const;
  void drawLine(DisplayList& list, std::size_t line) const;
  void drawCall(DisplayList& list, std::size_t row, std::size_t column, const QRectF& cell,
                bool odd) const;
  void drawVerdict(DisplayList& list, std::size_t row, const QRectF& rect) const;
  void drawOverview(DisplayList& list) const;
  void drawPointer(DisplayList& list) const;
  [[nodiscard]] QRectF overview() const;

  const DivergenceFacts& facts_;
  const Palette& palette_;
  const SequenceFrame frame_;
  const std::vector<std::size_t> columns_;  // of the sequence that are shown
};

/// Returns "group 0", "group 64", "checks of group 0".
QString nameOf(const analysis::CallSequence& sequence);
/// Returns "All 12,345 calls match", or what the first mismatch is.
QString summaryOf(const analysis::CallSequence& sequence);
/// Returns the data type of a call's bucket as the layout in force has it; empty: not known.
QString dtypeOf(const DivergenceFacts& facts, const trace::SpanRow& call);
/// Returns what there is to say of a place.
std::vector<Fact> factsOf(const DivergenceFacts& facts, const analysis::CallSequence& sequence,
                          const CallPlace& place);

}  // namespace lockstep::ui
