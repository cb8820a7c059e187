#include "ui/views/divergence/TwinTable.h"

#include <QHeaderView>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <algorithm>
#include <optional>
#include <utility>

#include "ui/panels/TableText.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kRowsMeasured = 40;
constexpr int kWidestColumn = 460;

}  // namespace

TwinTable::TwinTable(const QString& name, QWidget* parent) : QTableView(parent) {
  setAccessibleName(name);
  setModel(&model_);
  setSelectionMode(ExtendedSelection);
  prepareTable(*this);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setSortIndicatorClearable(true);
  horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  setSortingEnabled(true);

  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) {
            if (current.isValid() && !showing_) {
              emit rowChosen(model_.rowAt(current.row()));
            }
          });
}

void TwinTable::setRows(std::shared_ptr<const TableRows> rows) {
  const QScopedValueRollback showing(showing_, true);
  // News of the same rows move nothing under the reader's eyes.
  const int columnsBefore = model_.columnCount();
  const int scrolled = verticalScrollBar()->value();
  const auto current =
      currentIndex().isValid() ? std::optional(model_.rowAt(currentIndex().row())) : std::nullopt;
  model_.setRows(std::move(rows));
  if (model_.columnCount() != columnsBefore) {
    fitColumns();
    return;
  }
  if (current && model_.rows() != nullptr && *current < model_.rows()->size()) {
    selectionModel()->setCurrentIndex(
        model_.index(model_.lineOf(*current), 0),
        QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  }
  doItemsLayout();
  verticalScrollBar()->setValue(scrolled);
}

void TwinTable::fitColumns() {
  const auto& rows = model_.rows();
  if (rows == nullptr) {
    return;
  }
  const int em = fontMetrics().horizontalAdvance(QLatin1Char('m'));
  for (std::size_t column = 0; column < rows->columns().size(); ++column) {
    int width = fontMetrics().horizontalAdvance(rows->columns()[column].title) + 2 * em;
    for (std::size_t row = 0; row < std::min(rows->size(), kRowsMeasured); ++row) {
      width = std::max(width, fontMetrics().horizontalAdvance(rows->text(row, column)) + em);
    }
    setColumnWidth(static_cast<int>(column), std::min(width + 4, kWidestColumn));
  }
}

void TwinTable::showRow(std::size_t row) {
  const QScopedValueRollback showing(showing_, true);
  if (model_.rows() == nullptr || row >= model_.rows()->size()) {
    return;
  }
  const QModelIndex index = model_.index(model_.lineOf(row), 0);
  if (currentIndex().row() != index.row()) {
    selectionModel()->setCurrentIndex(
        index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    scrollTo(index);
  }
}

void TwinTable::showNoRow() {
  const QScopedValueRollback showing(showing_, true);
  selectionModel()->clear();
}

}  // namespace lockstep::ui
