#include "ui/views/compare/TableText.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QHeaderView>
#include <QMessageBox>
#include <QSaveFile>
#include <QTableView>
#include <algorithm>
#include <vector>

namespace lockstep::ui {
namespace {

QString quoted(QString cell) {
  if (!cell.contains(u',') && !cell.contains(u'"') && !cell.contains(u'\n')) {
    return cell;
  }
  return u'"' + cell.replace(QStringLiteral("\""), QStringLiteral("\"\"")) + u'"';
}

QString plain(QString cell) {
  return cell.replace(u'\t', u' ').replace(u'\n', u' ');
}

template <typename Cell>
QString linesOf(const QAbstractItemModel& model, const std::vector<int>& rows,
                const QString& between, const QString& ending, Cell cell) {
  QString text;
  const int columns = model.columnCount();
  const auto line = [&](auto value) {
    for (int column = 0; column < columns; ++column) {
      text += (column > 0 ? between : QString()) + cell(value(column).toString());
    }
    text += ending;
  };
  line([&](int column) { return model.headerData(column, Qt::Horizontal); });
  for (const int row : rows) {
    line([&](int column) { return model.index(row, column).data(); });
  }
  return text;
}

std::vector<int> allRows(const QAbstractItemModel& model) {
  std::vector<int> rows;
  for (int row = 0; row < model.rowCount(); ++row) {
    rows.push_back(row);
  }
  return rows;
}

void copySelected(const QTableView& view) {
  std::vector<int> rows;
  for (const QModelIndex& index : view.selectionModel()->selectedRows()) {
    rows.push_back(index.row());
  }
  std::sort(rows.begin(), rows.end());
  const QAbstractItemModel& model = *view.model();
  QApplication::clipboard()->setText(linesOf(model, rows.empty() ? allRows(model) : rows,
                                             QStringLiteral("\t"), QStringLiteral("\n"), plain));
}

}  // namespace

QString csvOf(const QAbstractItemModel& model) {
  return linesOf(model, allRows(model), QStringLiteral(","), QStringLiteral("\r\n"), quoted);
}

void prepareTable(QTableView* view) {
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view->setTabKeyNavigation(false);
  view->setShowGrid(false);
  view->setAlternatingRowColors(true);
  view->setWordWrap(false);
  view->verticalHeader()->hide();
  view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 6);
  view->horizontalHeader()->setHighlightSections(false);
  view->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  auto* copy = new QAction(QObject::tr("Copy"), view);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(copy, &QAction::triggered, view, [view] { copySelected(*view); });
  view->addAction(copy);
  view->setContextMenuPolicy(Qt::ActionsContextMenu);
}

void exportTable(QWidget* parent, const QAbstractItemModel& model, const QString& suggestion) {
  const QString path = QFileDialog::getSaveFileName(parent, QObject::tr("Export as CSV"),
                                                    suggestion, QObject::tr("CSV (*.csv)"));
  if (path.isEmpty()) {
    return;
  }
  QSaveFile file(path);
  const QByteArray text = csvOf(model).toUtf8();
  if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit()) {
    QMessageBox::warning(parent, QObject::tr("Export as CSV"),
                         QObject::tr("%1 cannot be written: %2.").arg(path, file.errorString()));
  }
}

}  // namespace lockstep::ui
