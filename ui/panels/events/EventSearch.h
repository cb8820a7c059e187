#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ui/model/SpanQuery.h"
#include "ui/model/SpanSlices.h"
#include "ui/model/SpanWalk.h"
#include "ui/panels/events/EventColumns.h"

namespace lockstep::ui {

/// What a search found, in the order asked for; never changed once made.
struct EventRows {
  SpanSlices slices;
  std::vector<std::uint32_t> numbers;  ///< of the spans, in `slices`
};

/// What to list, and in which order.
struct EventOrder {
  SpanQuery query;                 ///< empty: everything
  std::optional<TimeRange> range;  ///< what touches it; nothing: the whole run
  EventColumn column = EventColumn::kStart;
  bool descending = false;
};

/// Goes through a run for the events that are asked for and sorts them, on another thread. Where
/// the column says nothing of two, the earlier comes first; what has no value comes last.
/// [ui-thread]
class EventSearch : public QObject {
  Q_OBJECT

 public:
  explicit EventSearch(QObject* parent = nullptr);

  /// Leaves what was going on. `model` outlives the search, or `cancel` is called.
  void start(const RunModel& model, const EventOrder& order);
  void cancel();
  [[nodiscard]] bool busy() const { return walk_.busy(); }
  /// How much of the run has been gone through, 0 to 1.
  [[nodiscard]] double progress() const;
  /// How long the last search took that ended.
  [[nodiscard]] qint64 tookMs() const { return tookMs_; }

 signals:
  void progressed();
  void found(const std::shared_ptr<const lockstep::ui::EventRows>& rows);

 private:
  class Job;
  class TextKeys;

  SpanWalk walk_;
  std::shared_ptr<Job> job_;
  std::uint32_t count_ = 0;
  QElapsedTimer clock_;
  qint64 tookMs_ = 0;
};

}  // namespace lockstep::ui
