#pragma once

#include <QMenu>
#include <QPointF>
#include <functional>

#include "ui/views/timeline/TimelineView.h"

namespace lockstep::ui {

/// The menu of the right button: what can be done with what lies under it. Deletes itself when it
/// is closed. [ui-thread]
class TimelineMenu : public QMenu {
  Q_OBJECT

 public:
  TimelineMenu(TimelineView& view, QPointF position);

 private:
  /// An entry that acts while there is a run.
  void add(const QString& text, std::function<void()> act);
  void addMarkVerbs(const Mark& mark);
  void addCounterVerbs(QPointF position);
  void addPlaces(const std::optional<Span>& span, double ns);
  void addManyRanks(const std::optional<Span>& span, QPointF position);
  void addViews(const std::optional<Span>& span, double ns);

  TimelineView& view_;
};

}  // namespace lockstep::ui
