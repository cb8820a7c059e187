#include "ui/views/timeline/NoteEditor.h"

#include <QAction>
#include <algorithm>

#include "ui/panels/Labels.h"
#include "ui/views/timeline/layers/NotesLayer.h"

namespace lockstep::ui {

NoteEditor::NoteEditor(TimelineController& timeline, Canvas& canvas, QWidget& view)
    : timeline_(timeline), canvas_(canvas), view_(view) {
  timeline_.setNotes(&notes_);
}

void NoteEditor::open(const RunModel* model, ViewState* state) {
  drop();
  const bool both = model != nullptr && state != nullptr;
  notes_.open(both ? model->path() : std::filesystem::path(), both ? &state->undoStack() : nullptr);
}

// Where a bookmark or a note goes: the selection when it can be seen, else the middle.
double NoteEditor::placeNs() const {
  const TimeRange range = timeline_.state().range();
  const auto& selection = timeline_.state().selection();
  const bool seen =
      selection && selection->endNs() >= range.startNs && selection->startNs <= range.endNs;
  return seen ? std::max(selection->startNs, range.startNs) : range.middleNs();
}

void NoteEditor::goToBookmark(int direction) {
  const TimeRange range = timeline_.state().range();
  // A bookmark that is in the middle was just gone to.
  const double near = range.lengthNs() * 1e-6;
  if (const auto mark = notes_.bookmarkFrom(range.middleNs() + direction * near, direction)) {
    timeline_.state().setRange(TimeRange::about(mark->ns, range.lengthNs()));
  }
}

void NoteEditor::editHere() {
  editAt(timeline_.state().selection(), placeNs());
}

void NoteEditor::editAt(const std::optional<Span>& span, double ns) {
  Mark note;
  note.kind = Mark::Kind::kNote;
  note.ns = span ? span->startNs : ns;
  note.span = span ? span->id : -1;
  note.lane = span ? span->lane : -1;
  // One note a span, and one a moment: where there is one it is edited.
  for (const Mark& mark : notes_.marks()) {
    const bool same =
        mark.kind == Mark::Kind::kNote && (span ? mark.span == note.span && mark.lane == note.lane
                                                : mark.span < 0 && mark.ns == note.ns);
    if (same) {
      note = mark;
    }
  }
  edit(note);
}

void NoteEditor::drop() {
  if (line_ != nullptr) {
    line_->disconnect(this);
    delete line_;
  }
}

void NoteEditor::edit(const Mark& note) {
  drop();
  QLineEdit* line = named(new QLineEdit(note.text, &view_), "noteText", tr("Text of the note"));
  line_ = line;
  line->setPlaceholderText(tr("Note; empty removes it"));
  const QRectF flag = flagRect(note, timeline_.axis());
  const QPoint origin = canvas_.mapTo(&view_, QPoint(0, 0));
  const int width = 260;
  const int left =
      std::clamp(static_cast<int>(flag.left()), 0, std::max(0, canvas_.width() - width));
  line->setGeometry(origin.x() + left, origin.y() + static_cast<int>(flag.top()) - 3, width, 24);
  // The key would also clear the selection.
  auto* dismiss = new QAction(line);
  dismiss->setShortcut(Qt::Key_Escape);
  dismiss->setShortcutContext(Qt::WidgetShortcut);
  line->addAction(dismiss);
  // What closes the line comes from the line itself: it is deleted once its signal has returned.
  const auto close = [this, line] {
    line->disconnect(this);
    line->hide();
    line->deleteLater();
    if (line_ == line) {
      line_.clear();
    }
    view_.setFocus(Qt::OtherFocusReason);
  };
  connect(dismiss, &QAction::triggered, this, close);
  connect(line, &QLineEdit::editingFinished, this, [this, line, note, close] {
    Mark changed = note;
    changed.text = line->text();
    close();
    notes_.setNote(changed);
  });
  line->show();
  line->setFocus(Qt::OtherFocusReason);
}

}  // namespace lockstep::ui
