#include "ui/views/compare/CompareScene.h"

#include <algorithm>
#include <vector>

#include "ui/canvas/TextMetrics.h"
#include "ui/views/compare/MetricText.h"

namespace lockstep::ui {
namespace {

struct Column {
  double share = 1;  ///< of the width
  Qt::Alignment alignment = kToTheLeft;
  bool sentences = false;  ///< that take as many lines as they need
};

struct Cell {
  QString text;
  QColor colour;
};
using Cells = std::vector<Cell>;

constexpr double kGap = 8;

/// Figures between a name and words, each column with a share by its widest text.
std::vector<Column> columnsFor(const QStringList& headings, const std::vector<Cells>& rows) {
  std::vector<Column> columns;
  double sum = 0;
  for (qsizetype i = 0; i < headings.size(); ++i) {
    double widest = textWidth(headings[i], FontRole::kSmall);
    for (const Cells& row : rows) {
      widest =
          std::max(widest, textWidth(row[static_cast<std::size_t>(i)].text, FontRole::kNormal));
    }
    columns.push_back(
        {widest + kGap, i == 0 || i + 1 == headings.size() ? kToTheLeft : kToTheRight});
    sum += columns.back().share;
  }
  for (Column& column : columns) {
    column.share /= sum;
  }
  return columns;
}

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
    list_.title(QRectF(rect_.left(), y_, rect_.width(), line_), text, palette_);
    list_.note(QRectF(rect_.left() + width, y_, rect_.width() - width, line_), more, palette_);
    y_ += line_;
  }

  void headings(const QStringList& texts) {
    Cells cells;
    for (const QString& text : texts) {
      cells.push_back({text, palette_.textMuted});
    }
    row(cells, FontRole::kSmall);
    list_.line({rect_.left(), y_ - 1}, {rect_.right(), y_ - 1}, palette_.gridStrong);
  }

  void row(const Cells& cells, FontRole font = FontRole::kNormal) {
    // Columns are shares of the width, so that pictures of any width have them all.
    double x = rect_.left();
    qsizetype lines = 1;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double width = rect_.width() * columns_[i].share;
      const QStringList parts = linesOf(cells, i, font);
      for (qsizetype line = 0; line < parts.size(); ++line) {
        list_.text(QRectF(x, y_ + line_ * static_cast<double>(line), width - kGap, line_),
                   parts[line], cells[i].colour, font, columns_[i].alignment);
      }
      lines = std::max(lines, parts.size());
      x += width;
    }
    y_ += line_ * static_cast<double>(lines);
  }

  /// Words across all columns, in as many lines as they need.
  void sentence(const QString& text, const QColor& colour) {
    for (const QString& part : brokenInto(text, rect_.width(), FontRole::kNormal)) {
      list_.text(QRectF(rect_.left(), y_, rect_.width(), line_), part, colour);
      y_ += line_;
    }
  }
  void note(const QString& text) { sentence(text, palette_.textMuted); }

  /// As many rows as there is room for, and a line that counts the others; returns the height.
  template <typename RowOf>
  double rows(std::size_t count, RowOf rowOf, const QString& more,
              FontRole font = FontRole::kNormal) {
    const auto fits = static_cast<qsizetype>(std::max(0.0, (rect_.bottom() - y_ + 0.5) / line_));
    qsizetype lines = 0;
    std::size_t shown = 0;         // with a line below that counts the others
    std::size_t withoutCount = 0;  // with none
    for (; withoutCount < count; ++withoutCount) {
      const Cells cells = rowOf(withoutCount);
      qsizetype most = 1;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        most = std::max(most, linesOf(cells, i, font).size());
      }
      lines += most;
      if (lines > fits) {
        break;
      }
      shown += lines < fits ? 1 : 0;
    }
    shown = withoutCount == count ? count : shown;
    for (std::size_t i = 0; i < shown; ++i) {
      row(rowOf(i), font);
    }
    if (shown < count) {
      note(more.arg(count - shown));
    }
    return height();
  }

  [[nodiscard]] double height() const { return y_ - rect_.top(); }

 private:
  [[nodiscard]] QStringList linesOf(const Cells& cells, std::size_t column, FontRole font) const {
    const QString& text = cells[column].text;
    const Column& of = columns_[column];
    return of.sentences ? brokenInto(text, rect_.width() * of.share - kGap, font)
                        : QStringList{text};
  }

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
    list->title(QRectF(rect.left() + 20, top, rect.width() - 20, line), title, palette);
    const QString& file = result.runs[run].detail;
    const bool named =
        file == result.runs[run].name || title.endsWith(QStringLiteral("(%1)").arg(file));
    const QString more = (named ? QString() : file + QStringLiteral("  ·  ")) +
                         QString::fromStdString(result.comparison.runs[run].counts) +
                         (result.runs[run].live ? QStringLiteral("  ·  still running") : QString());
    list->note(QRectF(rect.left() + 20 + width, top, rect.width() - 20 - width, line), more,
               palette);
  }
  return line * static_cast<double>(result.runs.size());
}

double drawCompareKeys(DisplayList* list, const QRectF& rect, const CompareResult& result,
                       const Palette& palette) {
  const auto& keys = result.comparison.keys;
  TableDrawing table(list, rect, palette,
                     {{0.4, kToTheLeft}, {0.3, kToTheLeft}, {0.3, kToTheLeft}});
  table.title(QStringLiteral("Keys that differ"));
  if (keys.empty()) {
    table.note(result.comparison.keysNote.empty()
                   ? QStringLiteral("None: the experiments are the same.")
                   : QString::fromStdString(result.comparison.keysNote));
    return table.height();
  }
  table.headings({QStringLiteral("key"), QStringLiteral("A"), QStringLiteral("B")});
  return table.rows(
      keys.size(),
      [&](std::size_t i) {
        return Cells{{labelOf(keys[i]), palette.text},
                     {keyValueText(keys[i].values[0]), palette.text},
                     {keyValueText(keys[i].values[1]), palette.text}};
      },
      QStringLiteral("and %1 more"));
}

double drawCompareMetrics(DisplayList* list, const QRectF& rect, const CompareResult& result,
                          const Palette& palette) {
  const QStringList headings{QStringLiteral("metric"), QStringLiteral("A"),
                             QStringLiteral("B"),      QStringLiteral("Δ"),
                             QStringLiteral("Δ %"),    QStringLiteral("99 % interval of Δ"),
                             QStringLiteral("verdict")};
  std::vector<Cells> rows;
  for (const analysis::MetricRow& row : result.comparison.metrics) {
    const analysis::Delta& delta = row.deltas[0];
    const QColor colour = verdictColour(row.metric, delta, palette);
    rows.push_back({{nameOf(row.metric), palette.text},
                    {valueText(row.metric, row.values[0]), palette.text},
                    {valueText(row.metric, row.values[1]), palette.text},
                    {differenceText(row.metric, delta.difference), colour},
                    {changeText(delta.percent), colour},
                    {intervalText(row.metric, delta), colour},
                    {verdictText(row.metric, delta), colour}});
  }
  TableDrawing table(list, rect, palette, columnsFor(headings, rows));
  table.title(QStringLiteral("Figures"), QStringLiteral("means over ranks and iterations"));
  table.note(fewRunsNote(result.comparison, 1));
  table.headings(headings);
  return table.rows(
      rows.size(), [&](std::size_t i) { return rows[i]; }, QStringLiteral("and %1 more"));
}

double drawCompareWhy(DisplayList* list, const QRectF& rect, const CompareResult& result,
                      const Palette& palette) {
  // A picture is of two runs: B against A.
  const analysis::Why& why = result.comparison.why[0];
  constexpr double kMsWidth = 92;
  const double share = std::min(0.3, kMsWidth / std::max(1.0, rect.width()));
  TableDrawing table(list, rect, palette, {{share, kToTheRight}, {1 - share, kToTheLeft, true}});
  table.title(QStringLiteral("Why"),
              QStringLiteral("differences of means, which add up to that of the step"));
  table.sentence(QString::fromStdString(why.summary), palette.text);
  return table.rows(
      why.reasons.size(),
      [&](std::size_t i) {
        const analysis::Reason& reason = why.reasons[i];
        return Cells{
            {deltaMsText(reason.deltaMs), reason.deltaMs > 0 ? palette.error : palette.good},
            {QString::fromStdString(reason.sentence), palette.text}};
      },
      QStringLiteral("and %1 more with less effect"), FontRole::kSmall);
}

}  // namespace lockstep::ui
