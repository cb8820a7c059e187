#pragma once

#include <QPointF>
#include <QSizeF>
#include <QString>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ui/model/SpanNames.h"
#include "ui/views/timeline/Glide.h"
#include "ui/views/timeline/ManyRanks.h"
#include "ui/views/timeline/TimelineLayout.h"
#include "ui/views/timeline/TimelineMouse.h"
#include "ui/views/timeline/TimelineSight.h"

namespace lockstep::ui {

/// What a timeline shows and what keys do to it, without a widget: reads the model, writes the view
/// state, keeps what belongs to one view alone (scrolling, collapsed ranks). Its mouse does the
/// rest. Members that change or find something need a model and a state. [ui-thread]
class TimelineController {
 public:
  void setModel(const RunModel* model);
  void setState(ViewState* state) { state_ = state; }
  void setSize(QSizeF size);
  /// Shown in the frames; both outlive this, or are taken back.
  void setNotes(const Annotations* notes) { notes_ = notes; }
  void setFinder(const SpanFinder* finder) { finder_ = finder; }
  [[nodiscard]] bool ready() const { return model_ != nullptr && state_ != nullptr; }
  [[nodiscard]] ViewState& state() { return *state_; }
  [[nodiscard]] TimelineMouse& mouse() { return mouse_; }

  /// Lanes may have appeared: lays them out again. Moves the range when following.
  void modelChanged();
  /// The visible range moved, whoever moved it: an undo, the inspector, another view.
  void rangeChanged();

  /// Other counters, other ranks or another forecast are to be shown.
  void placesChanged();
  /// Ranks that are unlike the rest, the first of them most; each with those to set it against.
  void setUnlike(std::vector<std::vector<int>> ranks);

  /// How long a jump to another time glides there; 0: it does not.
  void setGlideMs(int ms) { glideMs_ = ms; }
  /// Goes on with a glide, before a frame is drawn; whether there will be more of it.
  bool glide();

  [[nodiscard]] TimeAxis axis() const;
  [[nodiscard]] const TimelineLayout& layout() const { return layout_; }
  [[nodiscard]] TimelineFrame frame() const;
  [[nodiscard]] TimelineSight sight() const { return {*model_, layout_, frame()}; }

  // --- verbs ---
  /// Shows a range, as far as there is something in it.
  void show(TimeRange range, ViewState::RangeChange change);
  void show(const TimeAxis& axis, ViewState::RangeChange change) {
    show(TimeRange{axis.startNs(), axis.endNs()}, change);
  }
  /// Multiplies the visible length; about the pointer, or the middle when it is elsewhere.
  void zoom(double factor);
  /// Moves by a part of the visible length.
  void pan(double part);
  /// Shows the selection; when it is shown already, or there is none, the whole run.
  void focus();
  void showAll();
  void showStart();
  void showEnd();
  /// Moves by one iteration, keeping the length.
  void moveIteration(int direction);
  void goToIteration(std::uint32_t iteration);
  void selectNeighbour(int direction, bool sameKind);
  /// Drops the measuring band, else the filter, else the selection.
  void clear();
  void toggleRank(int rank);
  /// Folds each rank to a strip, or shows the lanes of all again.
  void collapseAll(bool collapsed);
  /// Shows the lanes of these ranks alone; with none, all ranks again.
  void showRanks(const std::vector<int>& ranks);
  /// Shows the lanes of the rank that comes after the first shown one among those that are unlike
  /// the rest, or before it (-1), with those to set it against; of the first, where none is shown.
  void showUnlike(int direction);
  /// Keeps the lanes of a rank in sight whatever else is shown, or lets go of it.
  void togglePin(int rank);
  /// Shows the lanes of all ranks of a run of many, below each other, or their lines again.
  void setListed(bool listed);
  [[nodiscard]] const ManyRanks& many() const { return many_; }
  /// Whether the run has so many ranks that they are lines.
  [[nodiscard]] bool ofMany() const;
  void setRibbons(bool ribbons) { ribbons_ = ribbons; }
  [[nodiscard]] bool ribbons() const { return ribbons_; }
  /// Makes rows higher (positive) or lower by steps, within what can be read.
  void scaleRows(double steps);
  /// Selects a span and moves so that it is seen.
  void reveal(const Span& span);
  /// Shows a span, or without one what lies around a time, closer.
  void zoomTo(const std::optional<Span>& span, double ns);

  // --- scrolling down ---
  [[nodiscard]] double scrollY() const { return scrollY_; }
  [[nodiscard]] double maximumScroll() const;
  void setScroll(double y);

  /// The span under a position; in the World lane, that of the rank which came last.
  [[nodiscard]] std::optional<Span> spanAt(QPointF position) const;
  /// The name of the span under a position, for the glossary; empty: there is none.
  [[nodiscard]] QString headingAt(QPointF position) const {
    const auto span = ready() ? spanAt(position) : std::nullopt;
    return span ? nameOf(*span) : QString();
  }
  /// The counter whose plot is under a position.
  [[nodiscard]] std::optional<TimelineLayout::CounterHit> counterAt(QPointF position) const;
  /// The bookmark or note whose flag is under a position.
  [[nodiscard]] std::optional<Mark> markAt(QPointF position) const;
  /// The rank whose line is under a position.
  [[nodiscard]] std::optional<int> lineAt(QPointF position) const;
  /// The rank whose header is under a position.
  [[nodiscard]] std::optional<int> headerAt(QPointF position) const;
  [[nodiscard]] const std::optional<TimeRange>& measured() const { return mouse_.measured(); }

 private:
  void bringIntoSight(const Span& span);
  void giveLanes(int rank);
  [[nodiscard]] double linesRoom() const;
  void relayout();
  /// The same with rows no higher than they are.
  void relayoutAsBefore();
  [[nodiscard]] std::optional<TimeRange> aroundSight() const;
  [[nodiscard]] std::vector<std::string> counterNames() const;
  [[nodiscard]] bool startUpInSight() const;
  void follow();
  void updateIteration();
  [[nodiscard]] TimeRange drawnRange() const;

  const RunModel* model_ = nullptr;
  ViewState* state_ = nullptr;
  const Annotations* notes_ = nullptr;
  const SpanFinder* finder_ = nullptr;
  QSizeF size_;
  TimelineLayout layout_;
  std::set<int> collapsed_;
  double scrollY_ = 0;
  double rowScale_ = 1;
  ManyRanks many_;
  bool ribbons_ = false;
  Glide glide_;
  int glideMs_ = 0;
  TimeRange before_;  // of the state, before its last change
  bool laidOutStartUp_ = true;
  std::optional<TimeRange> laidOutAround_;  // aroundSight() then
  Density density_ = Density::kUsual;
  std::optional<double> linesRoom_;  // that they have; none: to be found
  TimelineMouse mouse_{*this};
};

}  // namespace lockstep::ui
