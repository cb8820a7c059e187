#include "ui/views/timeline/FindLine.h"

#include <QKeyEvent>
#include <QLineEdit>

#include "ui/model/Format.h"
#include "ui/panels/KeyTips.h"
#include "ui/stage/Boxes.h"

namespace lockstep::ui {

FindLine::FindLine(QWidget* parent)
    : QWidget(parent),
      line_(filterLine("findText",
                       tr("Find: allreduce  bucket:3  rank:1  kind:wait  step:10..20  >2ms"),
                       tr("Find in the timeline"))),
      result_(named(new QLabel, "findResult")),
      previous_(barButton(QStringLiteral("◀"), tr("Previous match"))),
      next_(barButton(QStringLiteral("▶"), tr("Next match"))),
      close_(barButton(QStringLiteral("✕"), tr("Close the search"))) {
  line_->setToolTip(SpanQuery::help());
  line_->installEventFilter(this);
  fill(this, inRow({{line_, 1}, result_, previous_, next_, close_}), {8, 3, 4, 3});
  connect(line_, &QLineEdit::textChanged, this, &FindLine::queryChanged);
  connect(previous_, &QToolButton::clicked, this, [this] { emit goWanted(-1); });
  connect(next_, &QToolButton::clicked, this, [this] { emit goWanted(1); });
  connect(close_, &QToolButton::clicked, this, &FindLine::closeWanted);
}

void FindLine::setCommands(const QAction* previous, const QAction* next, const QAction* close) {
  setTip(previous_, tr("Previous match"), previous);
  setTip(next_, tr("Next match; Enter in the line does the same"), next);
  setTip(close_, tr("Close the search"), close);
}

QString FindLine::text() const {
  return line_->text();
}

void FindLine::setText(const QString& text) {
  line_->setText(text);
}

void FindLine::begin() {
  line_->setFocus(Qt::ShortcutFocusReason);
  line_->selectAll();
}

void FindLine::showResult(const SpanFinder& finder, const std::optional<Span>& selected) {
  const SpanQuery& query = finder.query();
  if (query.empty()) {
    result_->clear();
  } else if (!query.error().isEmpty()) {
    result_->setText(query.error());
  } else {
    const auto number = selected ? finder.numberOf(*selected) : std::nullopt;
    const QString all = formatCounted(finder.count(), "match", "matches");
    const QString matches = number ? tr("%1 of %2").arg(formatCount(*number), all) : all;
    result_->setText(finder.searching() ? tr("%1 so far…").arg(matches) : matches);
  }
}

bool FindLine::eventFilter(QObject* watched, QEvent* event) {
  if (watched == line_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      emit goWanted(key->modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1);
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace lockstep::ui
