#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/analysis/SpanStatistics.h"
#include "ui/model/RunModel.h"
#include "ui/model/SpanQuery.h"
#include "ui/model/SpanWalk.h"
#include "ui/panels/statistics/SpanGroups.h"

namespace lockstep::ui {

/// One row of the statistics; times in ns.
struct StatisticsRow {
  SpanGroups::Group group;
  analysis::SpanStatistics of;
  double share = 0;  ///< analysis::shareOf what was measured
};

/// Statistics of a run; never changed once made.
struct Statistics {
  std::vector<StatisticsRow> rows;  ///< none without any span
  std::uint64_t measured = 0;       ///< spans and instants gone through
  std::uint64_t of = 0;             ///< that there are in the range
  TimeRange range;                  ///< that was measured
  int ranks = 0;
};

/// What to measure.
struct StatisticsOrder {
  GroupBy by = GroupBy::kName;
  SpanQuery query;                 ///< empty: everything
  std::optional<TimeRange> range;  ///< what touches it; nothing: the whole run
  std::uint32_t most = 0;          ///< of more spans the latest so many are measured
};

/// Measures the spans of a run on another thread. [ui-thread]
class StatisticsSearch : public QObject {
  Q_OBJECT

 public:
  explicit StatisticsSearch(QObject* parent = nullptr);

  /// Leaves what was going on. `model` outlives the search, or `cancel` is called.
  void start(const RunModel& model, const StatisticsOrder& order);
  void cancel();
  [[nodiscard]] bool busy() const { return walk_.busy(); }
  [[nodiscard]] qint64 tookMs() const { return tookMs_; }

 signals:
  void found(const std::shared_ptr<const lockstep::ui::Statistics>& statistics);

 private:
  class Job;

  SpanWalk walk_;
  std::shared_ptr<Job> job_;
  QElapsedTimer clock_;
  qint64 tookMs_ = 0;
};

}  // namespace lockstep::ui
