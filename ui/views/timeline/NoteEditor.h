#pragma once

#include <QLineEdit>
#include <QObject>
#include <QPointer>

#include "ui/canvas/Canvas.h"
#include "ui/model/Annotations.h"
#include "ui/model/RunModel.h"
#include "ui/views/timeline/TimelineController.h"

namespace lockstep::ui {

/// The bookmarks and notes of the open run, and the line in which a note is written, at its flag.
/// [ui-thread]
class NoteEditor : public QObject {
  Q_OBJECT

 public:
  /// `canvas` shows the timeline in `view`, which gets the keyboard back. All outlive this.
  NoteEditor(TimelineController& timeline, Canvas& canvas, QWidget& view);
  ~NoteEditor() override { drop(); }

  /// The notes beside a run; none without both.
  void open(const RunModel* model, ViewState* state);
  [[nodiscard]] Annotations& notes() { return notes_; }

  /// Writes a note: Enter or a click elsewhere keeps it, Esc leaves all as it was.
  void edit(const Mark& note);
  /// The note on a span, or, without one, at a time; a new one where there is none.
  void editAt(const std::optional<Span>& span, double ns);
  /// The same on the selection, else in the middle.
  void editHere();
  void toggleBookmark() { notes_.toggleBookmark(placeNs()); }
  void goToBookmark(int direction);
  /// Removes the line without keeping what is in it. (A line that only lost the focus would say
  /// that it is finished, and the note would be kept.)
  void drop();

 private:
  [[nodiscard]] double placeNs() const;

  TimelineController& timeline_;
  Canvas& canvas_;
  QWidget& view_;
  Annotations notes_;
  QPointer<QLineEdit> line_;
};

}  // namespace lockstep::ui
