#pragma once

#include <QAction>
#include <QElapsedTimer>
#include <QKeySequence>
#include <QList>
#include <QString>
#include <functional>

#include "ui/stage/Boxes.h"
#include "ui/stage/CanvasPart.h"
#include "ui/stage/RunPart.h"
#include "ui/stage/Steps.h"

class QComboBox;
class QScrollBar;
class QStackedLayout;
class QTimer;

namespace lockstep::ui {

/// Lets a scroll bar beside a canvas go that far, and hides it where there is nothing to scroll.
void setScrollable(QScrollBar& bar, double most, int page, int singleStep);

/// One way to look at the open run: the frame that every view stands in. A view reads the run and
/// changes nothing but the view state; selection, range and hover are shared through that. It works
/// only while it is in sight: what comes meanwhile it takes when it is shown. [ui-thread]
class RunView : public CanvasPart<RunPart> {
  Q_OBJECT

 public:
  explicit RunView(QWidget* parent = nullptr);

  /// Shows another run, or, without one, a page that says how to get one. The run may be destroyed
  /// while it is open.
  void setRun(const OpenRun& run) override;
  /// Actions of this view alone, with keys that work while it has focus: for menus, the palette
  /// and the key sheet.
  [[nodiscard]] QList<QAction*> viewActions() const { return actions_; }

 signals:
  /// No run is open, and the user asks for one: the demo, or a run file.
  void demoRequested();
  void openRequested();
  /// The user asks to see the selection, or the range of the view state, in the timeline.
  void timelineRequested();
  /// The canvas was painted.
  void framePainted();

 protected:
  // --- what a view says of itself

  /// Another run is open, or none: forgets what was shown, and connects to what it follows of
  /// `model_`, `state_` and `analyser_`. These connections end with the run.
  void runChanged() override = 0;
  /// Brings what is shown up to date. Called when it is shown, and by `refreshSoon`.
  virtual void refresh() {}
  /// Says whether there is something for the view's keys to act on.
  [[nodiscard]] virtual bool takesKeys() const { return true; }
  /// A key of the view has acted.
  virtual void acted() {}

  // --- what it is given

  enum class Offer { kDemo, kOpen };
  /// Stacks the page of no run and those of one, of which the first is shown to begin with.
  void setPages(const QString& sentence, const QString& button, Offer offer,
                const QList<QWidget*>& pages);
  /// Makes the view's canvas; `name` is what a screen reader calls it. `holder` takes it and its
  /// focus; null: the canvas has that itself.
  Canvas* makeCanvas(const QString& name, QWidget* holder = nullptr);
  /// A scroll bar for the canvas, hidden while there is nothing to scroll; it goes beside it.
  QHBoxLayout* makeScrollBar();
  void setScrollable(double most, int singleStep);
  /// An action whose keys work while `keyed_` or a part of it has the focus.
  QAction* makeAction(const QString& text, const QList<QKeySequence>& keys,
                      const std::function<void()>& act);
  /// The keys that zoom and move sideways, the same in every view. They are given the factor of the
  /// visible length, and the part of it.
  void makeZoomActions(const std::function<void(double factor)>& zoom,
                       const std::function<void(double part)>& pan, bool arrows = false);
  /// Gives an action of the view's own its keys, and its place among the others.
  void addKeyed(QAction* action, const QList<QKeySequence>& keys);
  /// Has `refresh` called, at most once in `everyMs`, while the view is in sight.
  void refreshSoon(int everyMs);
  /// Has it called after `ms` at the latest.
  void refreshIn(int ms);
  /// Fills a box of runs: `first`, then those of `paths` but the open one.
  void offerRuns(QComboBox& box, const QString& first, const QStringList& paths) const;
  /// Shows another of the pages of a run, while there is one.
  void showPage(QWidget* page);

  void showEvent(QShowEvent* event) override;
  void canvasPainted() override;
  void changeEvent(QEvent* event) override;

  QString failure_;  ///< why the run cannot be read, in a sentence; empty: it can
  QWidget* keyed_ = this;
  QScrollBar* scrollBar_ = nullptr;

 private:
  QStackedLayout* pages_ = nullptr;
  QList<QAction*> actions_;
  QTimer* later_;
  QElapsedTimer refreshed_;
};

}  // namespace lockstep::ui
