#include "ui/views/overlap/CopyTable.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QTableView>
#include <algorithm>
#include <numeric>
#include <vector>

namespace lockstep::ui {
namespace {

QString rowsAsText(const QTableView& table) {
  const QAbstractItemModel& model = *table.model();
  QStringList cells;
  for (int column = 0; column < model.columnCount(); ++column) {
    cells << model.headerData(column, Qt::Horizontal).toString();
  }
  QStringList lines{cells.join(QLatin1Char('\t'))};
  std::vector<int> rows;
  for (const QModelIndex& index : table.selectionModel()->selectedRows()) {
    rows.push_back(index.row());
  }
  if (rows.empty()) {
    rows.resize(static_cast<std::size_t>(model.rowCount()));
    std::iota(rows.begin(), rows.end(), 0);
  }
  std::sort(rows.begin(), rows.end());
  for (const int row : rows) {
    cells.clear();
    for (int column = 0; column < model.columnCount(); ++column) {
      cells << model.index(row, column).data().toString();
    }
    lines << cells.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace

void setUpTwin(QTableView& table, QAbstractItemModel& model, const QString& name) {
  table.setModel(&model);
  table.setAccessibleName(name);
  table.setSelectionBehavior(QAbstractItemView::SelectRows);
  table.setSelectionMode(QAbstractItemView::ExtendedSelection);
  table.setEditTriggers(QAbstractItemView::NoEditTriggers);
  table.setAlternatingRowColors(true);
  table.setShowGrid(false);
  table.setWordWrap(false);
  table.setTabKeyNavigation(false);
  table.verticalHeader()->hide();
  table.verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table.verticalHeader()->setDefaultSectionSize(table.fontMetrics().height() + 6);
  table.horizontalHeader()->setHighlightSections(false);
  table.horizontalHeader()->setStretchLastSection(true);
  table.horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  table.horizontalHeader()->setSortIndicatorClearable(true);
  table.setSortingEnabled(true);
  const int em = table.fontMetrics().horizontalAdvance(QLatin1Char('m'));
  for (int column = 0; column < model.columnCount(); ++column) {
    const QString title = model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    table.setColumnWidth(column,
                         std::max(6 * em, table.fontMetrics().horizontalAdvance(title) + 3 * em));
  }
  auto* copy = new QAction(QCoreApplication::translate("TwinTable", "Copy rows"), &table);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(copy, &QAction::triggered, &table,
                   [&table] { QApplication::clipboard()->setText(rowsAsText(table)); });
  table.addAction(copy);
  table.setContextMenuPolicy(Qt::ActionsContextMenu);
}

}  // namespace lockstep::ui
