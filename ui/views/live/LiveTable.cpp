#include "ui/views/live/LiveTable.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/base/NumberText.h"

namespace lockstep::ui {
namespace {

struct Column {
  const char* title;
  const char* tip;
  int decimals;
};

constexpr std::array<Column, 11> kColumns{
    {{"Rank", "The rank", 0},
     {"Iteration", "The iteration that it is in, or ended last", 0},
     {"Buckets reduced", "Of that iteration", 0},
     {"Loss", "Of its latest step, over its own batch", 4},
     {"Steps/s", "Now, or over the whole run once it has ended", 2},
     {"Step ms", "The last iteration that ended, in ms", 3},
     {"Overlap %", "Median of the measured iterations", 2},
     {"Exposed ms", "Median of the measured iterations, in ms", 3},
     {"Waiting ms", "For peers, a step: median of the measured iterations, in ms", 3},
     {"CPU %", "Of the whole process; 100 is one core", 0},
     {"Memory MiB", "Resident", 0}}};

std::optional<double> reduced(const LiveRank& rank) {
  if (rank.buckets.empty()) {
    return std::nullopt;
  }
  double count = 0;
  for (const LiveBucket& bucket : rank.buckets) {
    count += bucket.reduced ? 1 : 0;
  }
  return count;
}

const analysis::RankAnalysis* analysisOf(const AnalysedRun* run, int rank) {
  for (std::size_t i = 0; run != nullptr && i < run->analysis.ranks.size(); ++i) {
    if (run->analysis.ranks[i].rank == rank) {
      return &run->analysis.ranks[i];
    }
  }
  return nullptr;
}

std::optional<double> value(const LiveRank& rank, const AnalysedRun* run, std::size_t column) {
  const analysis::RankAnalysis* of = analysisOf(run, rank.rank);
  switch (column) {
    case 0:
      return rank.rank;
    case 1:
      return rank.step ? std::optional<double>(*rank.step) : std::nullopt;
    case 2:
      return reduced(rank);
    case 3:
      return rank.loss;
    case 4:
      return rank.stepsPerSecond;
    case 5:
      return rank.stepMs;
    case 6:
      return of == nullptr ? std::nullopt : of->overlapPercent;
    case 7:
      return of == nullptr ? std::nullopt : of->exposedMs;
    case 8:
      return of == nullptr ? std::nullopt : of->waitingMs;
    case 9:
      return rank.cpuPercent;
    case 10:
      return rank.residentBytes ? std::optional(*rank.residentBytes / base::kMiB) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::vector<TableRows::Column> liveColumns() {
  std::vector<TableRows::Column> all;
  for (const Column& column : kColumns) {
    all.push_back({QString::fromLatin1(column.title), QString::fromLatin1(column.tip), true});
  }
  return all;
}

class LiveRows : public TableRows {
 public:
  LiveRows(std::shared_ptr<const LiveContent> content, std::shared_ptr<const AnalysedRun> run)
      : TableRows(liveColumns()), content_(std::move(content)), run_(std::move(run)) {}

  [[nodiscard]] std::size_t size() const override {
    return content_ == nullptr ? 0 : content_->ranks.size();
  }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const auto figure = number(row, column);
    if (!figure) {
      return {};
    }
    // Whole buckets: how full the others are is seen on the canvas.
    if (column == 2) {
      return QStringLiteral("%1 of %2").arg(*figure).arg(content_->ranks[row].buckets.size());
    }
    return std::isfinite(*figure) ? QString::number(*figure, 'f', kColumns[column].decimals)
                                  : QStringLiteral("not a number");
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    return value(content_->ranks[row], run_.get(), column);
  }

  [[nodiscard]] QString tip(std::size_t, std::size_t) const override { return {}; }

  [[nodiscard]] bool continues(const TableRows& before) const override {
    // A rank more is another table: places of a row are ranks.
    return before.size() == size();
  }

 private:
  std::shared_ptr<const LiveContent> content_;
  std::shared_ptr<const AnalysedRun> run_;
};

}  // namespace

std::shared_ptr<const TableRows> liveRows(std::shared_ptr<const LiveContent> content,
                                          std::shared_ptr<const AnalysedRun> run) {
  return std::make_shared<LiveRows>(std::move(content), std::move(run));
}

}  // namespace lockstep::ui
