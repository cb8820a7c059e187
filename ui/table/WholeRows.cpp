#include "ui/table/WholeRows.h"

#include <QEvent>
#include <QHeaderView>
#include <QScrollBar>
#include <QSplitter>
#include <algorithm>

#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr int kFewestRows = 2;

}  // namespace

WholeRows::WholeRows(QSplitter* splitter, TableView* table, double part)
    : QObject(splitter), splitter_(splitter), table_(table), part_(part) {
  splitter->installEventFilter(this);
  connect(splitter, &QSplitter::splitterMoved, this,
          [this] { splitter_->removeEventFilter(this); });
}

// The splitter has its new size already, and is about to share it out.
bool WholeRows::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) {
    share();
  }
  return QObject::eventFilter(watched, event);
}

void WholeRows::share() {
  const int all = splitter_->height() - splitter_->handleWidth();
  const int row = table_->verticalHeader()->defaultSectionSize();
  const QScrollBar* below = table_->horizontalScrollBar();
  const int beside = table_->horizontalHeader()->sizeHint().height() + 2 * table_->frameWidth() +
                     (below->isVisible() ? below->height() : 0);
  const int rows = std::max(kFewestRows, (static_cast<int>(all * part_) - beside) / row);
  const int height = beside + rows * row;
  if (height < all) {
    splitter_->setSizes({all - height, height});
  }
}

}  // namespace lockstep::ui
