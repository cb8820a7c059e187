#pragma once

#include <QObject>
#include <QStringList>
#include <QUndoStack>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ui/model/ForecastIteration.h"
#include "ui/model/Span.h"

namespace lockstep::ui {

/// A run of more ranks than this is not shown rank by rank until somebody chooses among them: views
/// begin with what all of them have in common.
inline constexpr std::size_t kFewRanks = 8;

enum class ColourBy { kPhase, kBucket, kHook, kWait };

/// What all views of one run share: visible time, the time that statistics are about, selection,
/// hover, colouring, counters, shown ranks, following, what is forecast. Views read it and change it
/// through its verbs; changes of all but hover, following and forecast can be undone. [ui-thread]
class ViewState : public QObject {
  Q_OBJECT

 public:
  /// How a change of the range enters the undo stack. Consecutive zooms (or pans, or drags)
  /// within a second are one entry; kSilent leaves the stack alone, for following a live run.
  enum class RangeChange { kJump, kZoom, kPan, kSilent };

  /// The counters that are plotted until somebody chooses: memory and processor.
  static QStringList usualCounters();

  /// The narrowest range that can be shown.
  static constexpr double kMinimumRangeNs = 10.0;

  explicit ViewState(QObject* parent = nullptr);
  ~ViewState() override;

  [[nodiscard]] TimeRange range() const { return values_.range; }
  /// How the range came to be this one.
  [[nodiscard]] RangeChange rangeChange() const { return rangeChange_; }
  /// The time that statistics are restricted to; nothing: the whole run.
  [[nodiscard]] const std::optional<TimeRange>& filter() const { return values_.filter; }
  [[nodiscard]] const std::optional<Span>& selection() const { return values_.selection; }
  [[nodiscard]] const std::optional<Span>& hovered() const { return hovered_; }
  [[nodiscard]] ColourBy colourBy() const { return values_.colourBy; }
  /// The counters that the timeline plots under each rank, by their names in the run file.
  [[nodiscard]] const QStringList& counters() const { return values_.counters; }
  /// The ranks that views which have a lane a rank show, one below the other; empty: all.
  [[nodiscard]] const std::vector<int>& shownRanks() const { return values_.shownRanks; }
  [[nodiscard]] bool followsLive() const { return followLive_; }
  /// The iteration at the middle of the visible range, set by the timeline; nothing before the
  /// first one.
  [[nodiscard]] std::optional<std::uint32_t> iteration() const { return iteration_; }
  /// What somebody asked: an iteration with something changed. Null: nobody did.
  [[nodiscard]] const std::shared_ptr<const ForecastIteration>& forecast() const {
    return forecast_;
  }
  [[nodiscard]] QUndoStack& undoStack() { return undo_; }

  /// Sets the visible range; a range that is too narrow is widened about its middle. Any
  /// change but kSilent ends following.
  void setRange(TimeRange range, RangeChange change = RangeChange::kJump);
  /// Restricts statistics to a stretch of time; an empty one, or nothing, lifts that.
  void setFilter(const std::optional<TimeRange>& filter);
  void select(const std::optional<Span>& span);
  void clearSelection() { select(std::nullopt); }
  void setHovered(const std::optional<Span>& span);
  void setColourBy(ColourBy colourBy);
  void setCounters(const QStringList& names);
  /// Shows these ranks alone, in this order; none of them: all again. Who comes twice is shown once.
  void showRanks(const std::vector<int>& ranks);
  void setFollowLive(bool follow);
  void setIteration(std::optional<std::uint32_t> iteration);
  void setForecast(std::shared_ptr<const ForecastIteration> forecast);

  /// Shows again what was seen before, as a browser does: the ranges that were jumped, zoomed or
  /// moved to, apart from undo. Nothing happens at either end.
  void goBack();
  void goForward();
  [[nodiscard]] bool canGoBack() const { return !back_.empty(); }
  [[nodiscard]] bool canGoForward() const { return !forward_.empty(); }

  /// Forgets everything, the undo stack included: for another run.
  void reset();

 signals:
  void rangeChanged();
  void filterChanged();
  void selectionChanged();
  void hoveredChanged();
  void colourByChanged();
  void countersChanged();
  void shownRanksChanged();
  void followLiveChanged(bool follow);
  void iterationChanged();
  void forecastChanged();

 private:
  struct Values {
    TimeRange range;
    std::optional<TimeRange> filter;
    std::optional<Span> selection;
    ColourBy colourBy = ColourBy::kPhase;
    QStringList counters = usualCounters();
    std::vector<int> shownRanks;
  };
  class Change;

  template <typename Visit>
  static void eachPart(Visit visit);
  template <typename Part>
  void change(Part Values::*part, const Part& value, const QString& text);
  void push(const QString& text, const Values& next, int mergeKey);
  void apply(const Values& values);
  void remember(RangeChange change);
  void travel(std::vector<TimeRange>& from, std::vector<TimeRange>& to);

  Values values_;
  std::optional<Span> hovered_;
  bool followLive_ = false;
  std::optional<std::uint32_t> iteration_;
  std::shared_ptr<const ForecastIteration> forecast_;
  QUndoStack undo_;

  std::vector<TimeRange> back_;
  std::vector<TimeRange> forward_;
  RangeChange rangeChange_ = RangeChange::kSilent;
  RangeChange lastChange_ = RangeChange::kJump;
  qint64 lastChangeMs_ = 0;
};

}  // namespace lockstep::ui
