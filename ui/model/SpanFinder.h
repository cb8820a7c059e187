#pragma once

#include <QObject>
#include <QPointer>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ui/model/RunModel.h"
#include "ui/model/SpanQuery.h"

class QTimer;

namespace lockstep::ui {

/// Goes through a run for the spans that a query asks for, a few ms at a time, so that the event
/// loop goes on; while the run is live, what comes is searched too. [ui-thread]
class SpanFinder : public QObject {
  Q_OBJECT

 public:
  /// Further matches are counted, but not kept: they cannot be gone to.
  static constexpr std::size_t kKeptAtMost = 2'000'000;

  /// A span that matches, by its place: its row of a lane, in order of time.
  struct Match {
    std::uint64_t startTicks = 0;
    std::int64_t id = 0;
  };
  using Place = std::pair<int, int>;  // lane, row

  explicit SpanFinder(QObject* parent = nullptr);

  /// The run to search; null: none.
  void setModel(RunModel* model);
  void setQuery(const SpanQuery& query);

  [[nodiscard]] const SpanQuery& query() const { return query_; }
  [[nodiscard]] bool searching() const { return searching_; }
  /// How many were found so far.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Those of one row of a lane; null when there are none.
  [[nodiscard]] const std::vector<Match>* matches(int lane, int row) const;
  /// The match after (`direction` 1) or before (-1) a span, by start, then by lane and row; goes
  /// round at the ends. Without a span, the first after (or before) `ns`.
  [[nodiscard]] std::optional<Span> next(const std::optional<Span>& from, double ns,
                                         int direction) const;
  /// Which of the matches a span is, counted from 1 in the order in which `next` visits them;
  /// nothing where it is none.
  [[nodiscard]] std::optional<std::uint64_t> numberOf(const Span& span) const;

 signals:
  /// The count, or whether it is final, changed.
  void changed();

 private:
  void restart();
  void searchOn();
  void modelChanged();
  void infoChanged();
  void forgetNames();
  // Matches are visited by start, then by place, so that spans with one start come one by one.
  using Key = std::tuple<std::uint64_t, int, int, std::int64_t>;
  [[nodiscard]] std::optional<Span> spanOf(Place place, const Match& match) const;
  [[nodiscard]] std::optional<Key> keyOf(const Span& span) const;

  QPointer<RunModel> model_;
  SpanQuery query_;
  std::map<Place, std::vector<Match>> found_;
  std::map<Place, std::size_t> searched_;  // spans of each row that were looked at
  std::uint64_t count_ = 0;
  std::size_t kept_ = 0;
  bool searching_ = false;
  bool wasLive_ = false;
  std::size_t parameters_ = 0;  // that the model named when `query_` was last begun with
  QTimer* timer_;
};

}  // namespace lockstep::ui
