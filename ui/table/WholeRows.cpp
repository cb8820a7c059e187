#include "ui/table/WholeRows.h"

#include <QEvent>
#include <QHeaderView>
#include <QSplitter>
#include <algorithm>
#include <utility>

#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr int kFewestRows = 2;

}  // namespace

WholeRows::WholeRows(QSplitter* splitter, std::vector<TableView*> tables, double part)
    : QObject(splitter), splitter_(splitter), tables_(std::move(tables)), part_(part) {
  splitter->installEventFilter(this);
  for (TableView* table : tables_) {
    table->viewport()->installEventFilter(this);
  }
  whenLaidOut_.setSingleShot(true);
  connect(&whenLaidOut_, &QTimer::timeout, this, [this] { fit(); });
  connect(splitter, &QSplitter::splitterMoved, this, [this] { shares_ = false; });
}

// The splitter has its new size already, and is about to share it out. What a table has for its
// rows is known once its title and its scroll bars are laid out, which may be later: a column that
// comes with a run brings a scroll bar.
bool WholeRows::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && watched == splitter_) {
    if (shares_) {
      share();
    }
    fit();
  } else if (event->type() == QEvent::Resize) {
    whenLaidOut_.start();
  }
  return QObject::eventFilter(watched, event);
}

void WholeRows::share() {
  const int all = splitter_->height() - splitter_->handleWidth();
  const int lower = static_cast<int>(all * part_);
  splitter_->setSizes({all - lower, lower});
}

void WholeRows::fit() {
  const auto seen = std::ranges::find_if(tables_, &TableView::isVisible);
  QList<int> sizes = splitter_->sizes();
  if (seen == tables_.end() || sizes.back() == 0) {
    return;
  }
  const int row = (*seen)->verticalHeader()->defaultSectionSize();
  const int room = (*seen)->viewport()->height();
  const int more = std::max(kFewestRows, room / row) * row - room;
  if (more != 0 && more < sizes.front()) {
    sizes.front() -= more;
    sizes.back() += more;
    splitter_->setSizes(sizes);
  }
}

}  // namespace lockstep::ui
