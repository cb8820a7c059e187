#include "ui/table/TableText.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QHeaderView>
#include <QMessageBox>
#include <QTableView>
#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/export/OutputFile.h"

namespace lockstep::ui {

namespace {

// Quoted where it must be.
QString csvCell(QString cell) {
  if (!cell.contains(u',') && !cell.contains(u'"') && !cell.contains(u'\n')) {
    return cell;
  }
  return u'"' + cell.replace(QStringLiteral("\""), QStringLiteral("\"\"")) + u'"';
}

// A cell of copied text must not begin a new column or line.
QString plain(QString cell) {
  return cell.replace(u'\t', u' ').replace(u'\n', u' ');
}

template <typename Cell>
QString linesOf(const QAbstractItemModel& model, const std::vector<int>& rows,
                const std::vector<int>& columns, const QString& between, const QString& ending,
                Cell cell) {
  QString text;
  const auto line = [&](auto value) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text += (i > 0 ? between : QString()) + cell(value(columns[i]).toString());
    }
    text += ending;
  };
  line([&](int column) { return model.headerData(column, Qt::Horizontal); });
  for (const int row : rows) {
    line([&](int column) { return model.index(row, column).data(); });
  }
  return text;
}

std::vector<int> upTo(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> shownColumns(const QTableView& table) {
  std::vector<int> columns;
  for (int visual = 0; visual < table.model()->columnCount(); ++visual) {
    // As the user has moved the columns.
    const int column = table.horizontalHeader()->logicalIndex(visual);
    if (!table.isColumnHidden(column)) {
      columns.push_back(column);
    }
  }
  return columns;
}

}  // namespace

QString rowsAsText(const QTableView& table) {
  const QAbstractItemModel& model = *table.model();
  std::vector<int> rows;
  for (const QModelIndex& index : table.selectionModel()->selectedRows()) {
    rows.push_back(index.row());
  }
  std::sort(rows.begin(), rows.end());
  return linesOf(model, rows.empty() ? upTo(model.rowCount()) : rows, shownColumns(table),
                 QStringLiteral("\t"), QStringLiteral("\n"), plain);
}

void makeCopyable(QTableView& table) {
  auto* copy = new QAction(QCoreApplication::translate("TableText", "Copy"), &table);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(copy, &QAction::triggered, &table,
                   [&table] { QApplication::clipboard()->setText(rowsAsText(table)); });
  table.addAction(copy);
  if (table.contextMenuPolicy() == Qt::DefaultContextMenu) {
    table.setContextMenuPolicy(Qt::ActionsContextMenu);
  }
}

QString csvOf(const QAbstractItemModel& model) {
  // RFC 4180 wants CR and LF, whatever the system.
  return linesOf(model, upTo(model.rowCount()), upTo(model.columnCount()), QStringLiteral(","),
                 QStringLiteral("\r\n"), csvCell);
}

QString writeFile(const QString& path, const std::function<void(exports::OutputFile&)>& write) {
  auto file = exports::OutputFile::create(QFile::encodeName(path).toStdString());
  if (!file.ok()) {
    return QString::fromStdString(file.error().message()) + u'.';
  }
  write(*file.value());
  const base::Status written = file.value()->commit();
  return written.ok() ? QString() : QString::fromStdString(written.error().message()) + u'.';
}

QString writeTable(QAbstractItemModel& model, const QString& path) {
  while (model.canFetchMore({})) {  // a long table is handed out in pages
    model.fetchMore({});
  }
  return writeFile(path,
                   [&](exports::OutputFile& file) { file.write(csvOf(model).toStdString()); });
}

void exportFile(QWidget* parent, const QString& suggestion,
                const std::function<QString(const QString& path)>& write) {
  const QString title = QObject::tr("Export as CSV");
  const QString path =
      QFileDialog::getSaveFileName(parent, title, suggestion, QObject::tr("CSV (*.csv)"));
  if (path.isEmpty()) {
    return;
  }
  if (const QString mistake = write(path); !mistake.isEmpty()) {
    QMessageBox::warning(parent, title, mistake);
  }
}

void exportTable(QWidget* parent, QAbstractItemModel& model, const QString& suggestion) {
  exportFile(parent, suggestion, [&](const QString& path) { return writeTable(model, path); });
}

}  // namespace lockstep::ui
