#include "ui/views/compare/CompareScene.h"

#include <algorithm>
#include <vector>

#include "ui/canvas/TextMetrics.h"
#include "ui/views/compare/MetricText.h"

namespace lockstep::ui {
namespace {

struct Column {
  double share = 1;  ///< of the width
  Qt::Alignment alignment = Qt::AlignLeft | Qt::AlignVCenter;
};

struct Cell {
  QString text;
  QColor colour;
};

const Qt::Alignment kLeft = Qt::AlignLeft | Qt::AlignVCenter;
const Qt::Alignment kRight = Qt::AlignRight | Qt::AlignVCenter;
constexpr double kGap = 10;

/// Draws rows of text below a title.
class TableDrawing {
 public:
  TableDrawing(DisplayList* list, const QRectF& rect, const Palette& palette,
               std::vector<Column> columns)
      : list_(list != nullptr ? *list : measured_),
        rect_(rect),
        palette_(palette),
        columns_(std::move(columns)),
        line_(lineHeight(FontRole::kNormal) + 5),
        y_(rect.top()) {}

  void title(const QString& text, const QString& more = {}) {
    const double width = textWidth(text, FontRole::kBold) + 8;
    list_.text(QRectF(rect_.left(), y_, rect_.width(), line_), text, palette_.text,
               FontRole::kBold);
    list_.text(QRectF(rect_.left() + width, y_, rect_.width() - width, line_), more,
               palette_.textMuted, FontRole::kSmall);
    y_ += line_;
  }

  void headings(const QStringList& texts) {
    std::vector<Cell> cells;
    for (const QString& text : texts) {
      cells.push_back({text, palette_.textMuted});
    }
    row(cells, FontRole::kSmall);
    list_.line({rect_.left(), y_ - 1}, {rect_.right(), y_ - 1}, palette_.gridStrong);
  }

  void row(const std::vector<Cell>& cells, FontRole font = FontRole::kNormal) {
    // Columns are shares of the width, so that pictures of any width have them all.
    double x = rect_.left();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double width = rect_.width() * columns_[i].share;
      list_.text(QRectF(x, y_, width - kGap, line_), cells[i].text, cells[i].colour, font,
                 columns_[i].alignment);
      x += width;
    }
    y_ += line_;
  }

  void note(const QString& text) {
    list_.text(QRectF(rect_.left(), y_, rect_.width(), line_), text, palette_.textMuted);
    y_ += line_;
  }

  /// How many of `wanted` rows there is room for, with a line left for those that do not fit.
  [[nodiscard]] std::size_t roomFor(std::size_t wanted) const {
    const auto fits = static_cast<std::size_t>(std::max(0.0, (rect_.bottom() - y_ + 0.5) / line_));
    return wanted <= fits ? wanted : std::max<std::size_t>(fits, 1) - 1;
  }

  [[nodiscard]] double height() const { return y_ - rect_.top(); }

 private:
  DisplayList measured_;  // that nobody sees
  DisplayList& list_;
  const QRectF rect_;
  const Palette& palette_;
  const std::vector<Column> columns_;
  const double line_;
  double y_;
};

}  // namespace

double drawCompareHeader(DisplayList* list, const QRectF& rect, const CompareResult& result,
                         const Palette& palette) {
  const double line = lineHeight(FontRole::kBold) + 6;
  for (std::size_t run = 0; run < result.runs.size() && list != nullptr; ++run) {
    const double top = rect.top() + line * static_cast<double>(run);
    const QString title = titleOfRun(result, run);
    const double width = textWidth(title, FontRole::kBold) + 14;
    list->fill(QRectF(rect.left(), top + 3, 12, line - 8), palette.rank(static_cast<int>(run)), 2);
    list->text(QRectF(rect.left() + 20, top, rect.width() - 20, line), title, palette.text,
               FontRole::kBold);
    const QString more = result.runs[run].detail + QStringLiteral("  ·  ") +
                         QString::fromStdString(result.comparison.runs[run].counts) +
                         (result.runs[run].live ? QStringLiteral("  ·  still running") : QString());
    list->text(QRectF(rect.left() + 20 + width, top, rect.width() - 20 - width, line), more,
               palette.textMuted, FontRole::kSmall);
  }
  return line * static_cast<double>(result.runs.size());
}

double drawCompareKeys(DisplayList* list, const QRectF& rect, const CompareResult& result,
                       const Palette& palette) {
  const auto& keys = result.comparison.keys;
  TableDrawing table(list, rect, palette, {{0.4, kLeft}, {0.3, kLeft}, {0.3, kLeft}});
  table.title(QStringLiteral("Keys that differ"));
  if (keys.empty()) {
    table.note(result.comparison.keysNote.empty()
                   ? QStringLiteral("None: the experiments are the same.")
                   : QString::fromStdString(result.comparison.keysNote));
    return table.height();
  }
  table.headings({QStringLiteral("key"), QStringLiteral("A"), QStringLiteral("B")});
  const std::size_t shown = table.roomFor(keys.size());
  for (std::size_t i = 0; i < shown; ++i) {
    table.row({{labelOf(keys[i]), palette.text},
               {keyValueText(keys[i].values[0]), palette.text},
               {keyValueText(keys[i].values[1]), palette.text}});
  }
  if (shown < keys.size()) {
    table.note(QStringLiteral("and %1 more").arg(keys.size() - shown));
  }
  return table.height();
}

double drawCompareMetrics(DisplayList* list, const QRectF& rect, const CompareResult& result,
                          const Palette& palette) {
  TableDrawing table(list, rect, palette,
                     {{0.265, kLeft},
                      {0.09, kRight},
                      {0.09, kRight},
                      {0.1, kRight},
                      {0.1, kRight},
                      {0.185, kRight},
                      {0.17, kLeft}});
  table.title(QStringLiteral("Figures"), QStringLiteral("means over ranks and iterations"));
  table.headings({QStringLiteral("metric"), QStringLiteral("A"), QStringLiteral("B"),
                  QStringLiteral("Δ"), QStringLiteral("Δ %"), QStringLiteral("99 %"),
                  QStringLiteral("verdict")});
  const auto& rows = result.comparison.metrics;
  const std::size_t shown = table.roomFor(rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::Delta& delta = rows[i].deltas[0];
    const QColor colour = verdictColour(delta.verdict, palette);
    table.row({{nameOf(rows[i].metric), palette.text},
               {valueText(rows[i].metric, rows[i].values[0]), palette.text},
               {valueText(rows[i].metric, rows[i].values[1]), palette.text},
               {differenceText(rows[i].metric, delta.difference), colour},
               {changeText(delta.percent), colour},
               {intervalText(rows[i].metric, delta), colour},
               {verdictText(delta), colour}});
  }
  if (shown < rows.size()) {
    table.note(QStringLiteral("and %1 more").arg(rows.size() - shown));
  }
  return table.height();
}

double drawCompareWhy(DisplayList* list, const QRectF& rect, const CompareResult& result,
                      const Palette& palette) {
  // A picture is of two runs: B against A.
  const analysis::Why& why = result.comparison.why[0];
  constexpr double kMsWidth = 92;
  const double share = std::min(0.3, kMsWidth / std::max(1.0, rect.width()));
  TableDrawing table(list, rect, palette, {{share, kRight}, {1 - share, kLeft}});
  table.title(QStringLiteral("Why"),
              QStringLiteral("differences of means, which add up to that of the step"));
  const QString summary = QString::fromStdString(why.summary);
  // The summary's first part ends with a colon: two lines instead of one that would be cut.
  const qsizetype colon = summary.indexOf(QStringLiteral(": ")) + 1;
  if (colon > 0) {
    table.note(summary.left(colon));
  }
  table.note(summary.mid(colon).trimmed());
  const std::size_t shown = table.roomFor(why.reasons.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::Reason& reason = why.reasons[i];
    table.row({{deltaMsText(reason.deltaMs), reason.deltaMs > 0 ? palette.error : palette.good},
               {QString::fromStdString(reason.sentence), palette.text}},
              FontRole::kSmall);
  }
  if (shown < why.reasons.size()) {
    table.note(QStringLiteral("and %1 more with less effect").arg(why.reasons.size() - shown));
  }
  return table.height();
}

}  // namespace lockstep::ui
