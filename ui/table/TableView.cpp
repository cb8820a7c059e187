#include "ui/table/TableView.h"

#include <QHeaderView>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QStyleOptionHeader>
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "ui/table/TableText.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kRowsMeasured = 40;
constexpr int kWidestColumn = 460;

/// Leaves away the title of a narrowed column that has no room for it: what is left of it would be
/// no word.
class TitlesThatFit : public QHeaderView {
 public:
  TitlesThatFit(QWidget* parent, std::function<bool(int column)> isNarrowed)
      : QHeaderView(Qt::Horizontal, parent), isNarrowed_(std::move(isNarrowed)) {
    setSectionsClickable(true);
  }

 protected:
  void initStyleOptionForIndex(QStyleOptionHeader* option, int column) const override {
    QHeaderView::initStyleOptionForIndex(option, column);
    const QString title = model()->headerData(column, orientation()).toString();
    const int margins = 2 * style()->pixelMetric(QStyle::PM_HeaderMargin, option, this);
    if (isNarrowed_(column) &&
        fontMetrics().horizontalAdvance(title) > sectionSize(column) - margins) {
      option->text.clear();
    }
  }

 private:
  std::function<bool(int column)> isNarrowed_;
};

}  // namespace

TableView::TableView(const QString& name, Copies copies, QWidget* parent) : QTableView(parent) {
  setAccessibleName(name);
  setHorizontalHeader(new TitlesThatFit(this, [this](int column) { return givesWay(column); }));
  setModel(&model_);
  setSelectionMode(ExtendedSelection);
  setSelectionBehavior(SelectRows);
  setEditTriggers(NoEditTriggers);
  setTabKeyNavigation(false);
  setShowGrid(false);
  setAlternatingRowColors(true);
  setWordWrap(false);
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setSortIndicatorClearable(true);
  horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  setSortingEnabled(true);
  if (copies == Copies::kRows) {
    makeCopyable(*this);
  }
  connect(horizontalHeader(), &QHeaderView::sectionResized, this, [this](int column) {
    if (narrowing_) {
      return;
    }
    if (givesWay(column)) {
      narrowings_.clear();
    } else {
      narrow();
    }
  });
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) {
            // Not for rows that the program marks (showRow): the view would answer its own answer.
            if (current.isValid() && !showing_) {
              emit rowChosen(model_.rowAt(current.row()));
            }
          });
  connect(this, &QTableView::clicked, this,
          [this](const QModelIndex& index) { emit rowClicked(model_.rowAt(index.row())); });
  connect(this, &QTableView::activated, this,
          [this](const QModelIndex& index) { emit rowActivated(model_.rowAt(index.row())); });
}

void TableView::sortFromTheStart(int column, Qt::SortOrder direction) {
  // Without the third click that would unsort it.
  horizontalHeader()->setSortIndicatorClearable(false);
  sortByColumn(column, direction);
}

void TableView::setRows(std::shared_ptr<const TableRows> rows) {
  const QScopedValueRollback showing(showing_, true);
  // News of the same rows move nothing under the reader's eyes.
  const int columnsBefore = model_.columnCount();
  const int scrolled = verticalScrollBar()->value();
  model_.setRows(std::move(rows));
  // Figures stand together: stretched, the last would stand alone at the far edge of the window.
  if (const auto& shown = model_.rows();
      shown != nullptr && !shown->columns().empty() && shown->columns().back().number) {
    horizontalHeader()->setStretchLastSection(false);
  }
  // Other columns are another table: their widths are, too, and the place in it means nothing.
  if (fitsOthers_ && model_.columnCount() != columnsBefore) {
    fitColumns();
    return;
  }
  // Now and not at the next event: the scroll bar's range must be right before its value is set.
  doItemsLayout();
  verticalScrollBar()->setValue(scrolled);
}

void TableView::fitTitles() {
  const int em = fontMetrics().horizontalAdvance(QLatin1Char('m'));
  for (int column = 0; column < model_.columnCount(); ++column) {
    const QString title = model_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    setColumnWidth(column, std::max(6 * em, fontMetrics().horizontalAdvance(title) + 3 * em));
  }
}

void TableView::fitColumns() {
  const auto& rows = model_.rows();
  if (rows == nullptr) {
    return;
  }
  const int em = fontMetrics().horizontalAdvance(QLatin1Char('m'));
  for (std::size_t column = 0; column < rows->columns().size(); ++column) {
    // The first rows stand for all: a long table is not read whole to be shown.
    int width = fontMetrics().horizontalAdvance(rows->columns()[column].title) + 2 * em;
    for (std::size_t row = 0; row < std::min(rows->size(), kRowsMeasured); ++row) {
      width = std::max(width, fontMetrics().horizontalAdvance(rows->text(row, column)) + em);
    }
    setColumnWidth(static_cast<int>(column), std::min(width + 4, kWidestColumn));
  }
}

void TableView::keepInSight(int last, const std::vector<GivesWay>& columns) {
  lastInSight_ = last;
  narrowings_.clear();
  for (const GivesWay& way : columns) {
    narrowings_.push_back({way, columnWidth(way.column)});
  }
  narrow();
}

bool TableView::givesWay(int column) const {
  return std::ranges::any_of(
      narrowings_, [column](const Narrowing& narrowing) { return narrowing.way.column == column; });
}

void TableView::narrow() {
  if (narrowings_.empty()) {
    return;
  }
  const QScopedValueRollback narrowing(narrowing_, true);
  for (const Narrowing& one : narrowings_) {
    setColumnWidth(one.way.column, one.width);
  }
  const QHeaderView& header = *horizontalHeader();
  int over = -viewport()->width();
  for (int at = 0; at <= header.visualIndex(lastInSight_); ++at) {
    over += header.sectionSize(header.logicalIndex(at));
  }
  for (const Narrowing& one : narrowings_) {
    const int less = std::clamp(over, 0, std::max(0, one.width - one.way.least));
    setColumnWidth(one.way.column, one.width - less);
    over -= one.width - columnWidth(one.way.column);  // a header has a least width of its own
  }
}

void TableView::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  narrow();
}

std::optional<std::size_t> TableView::currentRow() const {
  const QModelIndex index = currentIndex();
  return index.isValid() ? std::optional(model_.rowAt(index.row())) : std::nullopt;
}

void TableView::showRow(std::size_t row) {
  const QScopedValueRollback showing(showing_, true);
  const int line =
      model_.rows() == nullptr || row >= model_.rows()->size() ? -1 : model_.lineOf(row);
  if (line < 0) {
    return;
  }
  // Nothing is moved where the row is marked already: the user may have scrolled away from it.
  if (const QModelIndex index = model_.index(line, 0);
      currentIndex().row() != line || !selectionModel()->isRowSelected(line)) {
    selectionModel()->setCurrentIndex(
        index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    scrollTo(index);
  }
}

void TableView::showNoRow() {
  const QScopedValueRollback showing(showing_, true);
  selectionModel()->clear();
}

}  // namespace lockstep::ui
