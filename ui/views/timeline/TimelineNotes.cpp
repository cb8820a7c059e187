#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QLineEdit>
#include <QMenu>
#include <algorithm>

#include "engine/base/Clock.h"
#include "ui/model/Format.h"
#include "ui/model/SpanFacts.h"
#include "ui/views/timeline/FindLine.h"
#include "ui/views/timeline/TimelineBar.h"
#include "ui/views/timeline/TimelineView.h"

// What a timeline does beside looking: notes, bookmarks, searching, the menu of the right button.
namespace lockstep::ui {

void TimelineView::openNotes() {
  dropNoteEditor();
  const bool both = model_ != nullptr && state_ != nullptr;
  notes_.open(both ? model_->path() : std::filesystem::path(),
              both ? &state_->undoStack() : nullptr);
}

void TimelineView::reveal(const Span& span) {
  if (controller_.ready()) {
    controller_.reveal(span);
    changedByUser();
  }
}

void TimelineView::setFrozen(bool frozen) {
  if (frozen == frozen_) {
    return;
  }
  frozen_ = frozen;
  if (watchedSince_) {
    watchedSince_ = base::ticks();
  }
  bar_->setFrozen(frozen);
  if (state_ == nullptr) {
    return;
  }
  if (frozen) {
    followedBeforeFreeze_ = state_->followsLive();
    state_->setFollowLive(false);
    return;
  }
  state_->setFollowLive(followedBeforeFreeze_);
  followedBeforeFreeze_ = false;
  modelChanged();
}

void TimelineView::escape() {
  if (!findLine_->isHidden()) {
    closeFind();
  } else {
    controller_.clear();
  }
}

// --- searching ---

void TimelineView::find(const QString& text) {
  findLine_->show();
  if (!text.isEmpty()) {
    findLine_->setText(text);
  }
  if (finder_.query().text() != findLine_->text()) {
    finder_.setQuery(SpanQuery(findLine_->text()));
  }
  findLine_->begin();
}

void TimelineView::closeFind() {
  findLine_->hide();
  finder_.setQuery(SpanQuery());
  setFocus(Qt::OtherFocusReason);
}

void TimelineView::goToMatch(int direction) {
  if (!controller_.ready()) {
    return;
  }
  if (findLine_->isHidden()) {
    find();
  }
  if (const auto span = finder_.next(state_->selection(), state_->range().startNs, direction)) {
    controller_.reveal(*span);
    changedByUser();
  }
}

void TimelineView::nextColouring() {
  const int next =
      (static_cast<int>(state_->colourBy()) + 1) % (static_cast<int>(ColourBy::kWait) + 1);
  state_->setColourBy(static_cast<ColourBy>(next));
}

// --- bookmarks and notes ---

// Where a bookmark or a note goes: the selection when it can be seen, else the middle.
double TimelineView::placeNs() const {
  const TimeRange range = state_->range();
  const auto& selection = state_->selection();
  const bool seen =
      selection && selection->endNs() >= range.startNs && selection->startNs <= range.endNs;
  return seen ? std::max(selection->startNs, range.startNs) : (range.startNs + range.endNs) / 2;
}

void TimelineView::goToBookmark(int direction) {
  const TimeRange range = state_->range();
  const double half = range.lengthNs() / 2;
  // A bookmark that is in the middle was just gone to.
  const double middle = range.startNs + half;
  const double near = range.lengthNs() * 1e-6;
  if (const auto mark = notes_.bookmarkFrom(middle + direction * near, direction)) {
    state_->setRange({mark->ns - half, mark->ns + half});
  }
}

void TimelineView::goToView(int digit) {
  if (const auto& range = notes_.view(digit)) {
    state_->setRange(*range);
  }
}

void TimelineView::noteHere() {
  Mark note;
  note.kind = Mark::Kind::kNote;
  note.ns = placeNs();
  if (const auto& selection = state_->selection()) {
    note.ns = selection->startNs;
    note.span = selection->id;
    note.lane = selection->lane;
  }
  for (const Mark& mark : notes_.marks()) {
    const bool same = mark.kind == Mark::Kind::kNote &&
                      (note.span >= 0 ? mark.span == note.span && mark.lane == note.lane
                                      : mark.span < 0 && mark.ns == note.ns);
    if (same) {
      note = mark;
    }
  }
  editNote(note);
}

// Without a last word: losing the focus says that editing is finished.
void TimelineView::dropNoteEditor() {
  if (noteEditor_ != nullptr) {
    noteEditor_->disconnect(this);
    delete noteEditor_;
  }
}

// A line of text at the flag; Enter or a click elsewhere keeps it, Esc leaves all as it was.
void TimelineView::editNote(const Mark& note) {
  dropNoteEditor();
  noteEditor_ = new QLineEdit(note.text, this);
  QLineEdit* editor = noteEditor_;
  editor->setObjectName(QStringLiteral("noteText"));
  editor->setPlaceholderText(tr("Note; empty removes it"));
  editor->setAccessibleName(tr("Text of the note"));
  const QRectF flag = flagRect(note, controller_.axis());
  const QPoint origin = canvas_->mapTo(this, QPoint(0, 0));
  const int width = 260;
  const int left =
      std::clamp(static_cast<int>(flag.left()), 0, std::max(0, canvas_->width() - width));
  editor->setGeometry(origin.x() + left, origin.y() + static_cast<int>(flag.top()) - 3, width, 24);
  // The key would also clear the selection.
  auto* dismiss = new QAction(editor);
  dismiss->setShortcut(Qt::Key_Escape);
  dismiss->setShortcutContext(Qt::WidgetShortcut);
  editor->addAction(dismiss);
  const auto close = [this, editor] {
    editor->disconnect(this);
    editor->hide();
    editor->deleteLater();
    if (noteEditor_ == editor) {
      noteEditor_.clear();
    }
    setFocus(Qt::OtherFocusReason);
  };
  connect(dismiss, &QAction::triggered, this, close);
  connect(editor, &QLineEdit::editingFinished, this, [this, editor, note, close] {
    Mark changed = note;
    changed.text = editor->text();
    close();
    notes_.setNote(changed);
  });
  editor->show();
  editor->setFocus(Qt::OtherFocusReason);
}

// --- the menu of the right button ---

void TimelineView::openMenu(QPointF position) {
  if (model_->spanCount() == 0) {
    return;
  }
  auto* menu = new QMenu(this);
  menu->setObjectName(QStringLiteral("timelineMenu"));
  menu->setAttribute(Qt::WA_DeleteOnClose);
  fillMenu(*menu, position);
  menu->popup(canvas_->mapToGlobal(position.toPoint()));
}

void TimelineView::fillMenu(QMenu& menu, QPointF position) {
  const auto span = controller_.spanAt(position);
  const auto mark = controller_.markAt(position);
  const double ns = controller_.axis().toNs(position.x());
  const auto add = [&](const QString& text, std::function<void()> act) {
    QAction* action = menu.addAction(text);
    connect(action, &QAction::triggered, this, [this, act = std::move(act)] {
      if (controller_.ready()) {
        act();
        changedByUser();
      }
    });
  };
  if (mark) {
    if (mark->kind == Mark::Kind::kNote) {
      add(tr("Edit the note"), [this, mark = *mark] { editNote(mark); });
    }
    add(mark->kind == Mark::Kind::kNote ? tr("Remove the note") : tr("Remove the bookmark"),
        [this, mark = *mark] { notes_.remove(mark); });
    menu.addSeparator();
  }
  addCounterVerbs(menu, position);
  if (span) {
    const QString query = queryFor(*span);
    add(tr("Find all: %1").arg(query), [this, query] {
      find(query);
      emit findAllRequested(query);
    });
  }
  add(tr("Bookmark here"), [this, ns] { notes_.toggleBookmark(ns); });
  add(span ? tr("Note on this span…") : tr("Note here…"), [this, span, ns] {
    Mark note;
    note.kind = Mark::Kind::kNote;
    note.ns = span ? span->startNs : ns;
    note.span = span ? span->id : -1;
    note.lane = span ? span->lane : -1;
    for (const Mark& other : notes_.marks()) {
      if (span && other.span == note.span && other.lane == note.lane) {
        note = other;
      }
    }
    editNote(note);
  });
  menu.addSeparator();
  add(span ? tr("Zoom to this span") : tr("Zoom here"),
      [this, span, ns] { controller_.zoomTo(span, ns); });
  if (span && controller_.onlyRank() != span->rank()) {
    add(tr("Show rank %1 alone").arg(span->rank()),
        [this, rank = span->rank()] { controller_.showOnlyRank(rank); });
  }
  if (controller_.onlyRank()) {
    add(tr("Show all ranks"), [this] { controller_.showOnlyRank(std::nullopt); });
  }
  // The stretch that was measured, else the one in sight.
  const bool measured = controller_.measured().has_value();
  const TimeRange stretch = controller_.measured().value_or(state_->range());
  const QString which = (measured ? tr("the measured %1") : tr("the visible %1"))
                            .arg(formatDuration(stretch.lengthNs()));
  add(tr("Filter statistics to %1").arg(which), [this, stretch] { state_->setFilter(stretch); });
  if (state_->filter()) {
    add(tr("Clear the filter"), [this] { state_->setFilter(std::nullopt); });
  }
  menu.addSeparator();
  if (span) {
    add(tr("Copy as JSON"),
        [this, span = *span] { QGuiApplication::clipboard()->setText(jsonOf(*model_, span)); });
  }
  add(tr("Export %1…").arg(which), [this, stretch] { emit exportRangeRequested(stretch); });
}

}  // namespace lockstep::ui
