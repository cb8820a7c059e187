#include "ui/help/TermUnder.h"

#include <QAbstractButton>
#include <QAbstractItemModel>
#include <QApplication>
#include <QComboBox>
#include <QCursor>
#include <QHeaderView>
#include <QLabel>
#include <QTabBar>
#include <QTableView>

#include "ui/canvas/Canvas.h"
#include "ui/model/Terms.h"
#include "ui/panels/TermTips.h"

namespace lockstep::ui {
namespace {

QString titleOfColumn(const QAbstractItemModel* model, int column) {
  return model == nullptr || column < 0
             ? QString()
             : model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
}

/// A figure is called by its row in a table of figures, else by its column.
QString headingInTable(const QTableView& table, QPoint at) {
  const QString cell = table.indexAt(at).data().toString();
  return termOf(cell) != nullptr ? cell : titleOfColumn(table.model(), table.columnAt(at.x()));
}

/// What stands in this widget itself at the point; it may be no term.
QString headingIn(QWidget* widget, QPoint onScreen) {
  const QPoint at = widget->mapFromGlobal(onScreen);
  if (const QString term = shownTerm(widget); !term.isEmpty()) {
    return term;
  }
  if (const auto* header = qobject_cast<QHeaderView*>(widget)) {
    return header->orientation() == Qt::Horizontal
               ? titleOfColumn(header->model(), header->logicalIndexAt(at))
               : QString();
  }
  if (const auto* table = qobject_cast<QTableView*>(widget)) {
    return headingInTable(*table, table->viewport()->mapFromGlobal(onScreen));
  }
  if (const auto* tabs = qobject_cast<QTabBar*>(widget)) {
    return tabs->tabText(tabs->tabAt(at));
  }
  if (const auto* canvas = qobject_cast<Canvas*>(widget)) {
    return canvas->client().headingAt(at);
  }
  if (const auto* label = qobject_cast<QLabel*>(widget)) {
    return label->text();
  }
  if (const auto* button = qobject_cast<QAbstractButton*>(widget)) {
    return button->text();
  }
  if (const auto* box = qobject_cast<QComboBox*>(widget)) {
    return box->currentText();
  }
  return {};
}

}  // namespace

QString termIn(QWidget* widget, QPoint onScreen) {
  for (; widget != nullptr; widget = widget->parentWidget()) {
    if (const glossary::Entry* entry = termOf(headingIn(widget, onScreen))) {
      return QString::fromUtf8(entry->term.data(), static_cast<qsizetype>(entry->term.size()));
    }
    if (widget->isWindow()) {
      break;
    }
  }
  return {};
}

QString termUnderPointer() {
  const QPoint at = QCursor::pos();
  return termIn(QApplication::widgetAt(at), at);
}

}  // namespace lockstep::ui
