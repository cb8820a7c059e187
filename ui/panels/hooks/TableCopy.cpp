#include "ui/panels/hooks/TableCopy.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QStringList>
#include <QTableView>
#include <algorithm>

namespace lockstep::ui {
namespace {

QString cell(const QVariant& value) {
  return value.toString()
      .replace(QLatin1Char('\t'), QLatin1Char(' '))
      .replace(QLatin1Char('\n'), QLatin1Char(' '));
}

QString textOf(const QTableView& table) {
  const QAbstractItemModel& model = *table.model();
  QList<int> columns;
  for (int visual = 0; visual < model.columnCount(); ++visual) {
    const int column = table.horizontalHeader()->logicalIndex(visual);
    if (!table.isColumnHidden(column)) {
      columns.push_back(column);
    }
  }
  QList<int> rows;
  for (const QModelIndex& index : table.selectionModel()->selectedRows()) {
    rows.push_back(index.row());
  }
  std::sort(rows.begin(), rows.end());
  if (rows.isEmpty()) {
    for (int row = 0; row < model.rowCount(); ++row) {
      rows.push_back(row);
    }
  }
  QStringList line;
  for (const int column : columns) {
    line << cell(model.headerData(column, Qt::Horizontal));
  }
  QStringList lines{line.join(QLatin1Char('\t'))};
  for (const int row : rows) {
    line.clear();
    for (const int column : columns) {
      line << cell(model.index(row, column).data());
    }
    lines << line.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace

void makeCopyable(QTableView& table) {
  auto* copy = new QAction(QCoreApplication::translate("TableCopy", "Copy rows"), &table);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(copy, &QAction::triggered, &table,
                   [&table] { QGuiApplication::clipboard()->setText(textOf(table)); });
  table.addAction(copy);
}

}  // namespace lockstep::ui
