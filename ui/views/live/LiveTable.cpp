#include "ui/views/live/LiveTable.h"

#include <algorithm>
#include <utility>

#include "engine/base/NumberText.h"
#include "ui/model/Format.h"
#include "ui/table/ColumnRows.h"

namespace lockstep::ui {
namespace {

double reduced(const LiveRank& rank) {
  return static_cast<double>(std::ranges::count(rank.buckets, true, &LiveBucket::reduced));
}

class LiveRows : public ColumnRows {
 public:
  LiveRows(std::shared_ptr<const LiveContent> content, std::shared_ptr<const AnalysedRun> run)
      : content_(std::move(content)), run_(std::move(run)) {
    add("Rank", "The rank", of(&LiveRank::rank), 0);
    add("Iteration", "The iteration that it is in, or ended last", of(&LiveRank::step), 0);
    words(
        {tr("Buckets reduced"), tr("Of that iteration"), true},
        [this](std::size_t row) {
          const LiveRank& rank = content_->ranks[row];
          return rank.buckets.empty()
                     ? QString()
                     : QStringLiteral("%1 of %2").arg(reduced(rank)).arg(rank.buckets.size());
        },
        [this](std::size_t row) {
          const LiveRank& rank = content_->ranks[row];
          return rank.buckets.empty() ? std::nullopt : std::optional(reduced(rank));
        });
    figures(tr("Loss"), tr("Of its latest step, over its own batch"), of(&LiveRank::loss),
            formatLoss);
    add("Steps/s", "Now, or over the whole run once it has ended", of(&LiveRank::stepsPerSecond),
        2);
    add("Step ms", "The last iteration that ended, in ms", of(&LiveRank::stepMs), 3);
    add("Overlap %", "Median of the measured iterations",
        median(&analysis::RankAnalysis::overlapPercent), 2);
    add("Exposed ms", "Median of the measured iterations, in ms",
        median(&analysis::RankAnalysis::exposedMs), 3);
    add("Waiting ms", "For other ranks, a step: median of the measured iterations, in ms",
        median(&analysis::RankAnalysis::waitingMs), 3);
    add("CPU %", "Of the whole process; 100 is one core", of(&LiveRank::cpuPercent), 0);
    add(
        "Memory MiB", "Resident",
        [this](std::size_t row) {
          const auto bytes = content_->ranks[row].residentBytes;
          return bytes ? std::optional(*bytes / base::kMiB) : std::nullopt;
        },
        0);
  }
  [[nodiscard]] std::size_t size() const override {
    return content_ == nullptr ? 0 : content_->ranks.size();
  }
  [[nodiscard]] QString tip(std::size_t, std::size_t) const override { return {}; }
  [[nodiscard]] bool continues(const TableRows& before) const override {
    // A rank more is another table: places of a row are ranks.
    return before.size() == size();
  }

 private:
  void add(const char* title, const char* tip, Number number, int decimals) {
    figures(tr(title), tr(tip), std::move(number),
            [decimals](double figure) { return QString::number(figure, 'f', decimals); });
  }
  template <typename Figure>
  [[nodiscard]] Number of(Figure figure) const {
    return [this, figure](std::size_t row) {
      return std::optional<double>(content_->ranks[row].*figure);
    };
  }
  template <typename Figure>
  [[nodiscard]] Number median(Figure figure) const {
    return [this, figure](std::size_t row) {
      for (std::size_t i = 0; run_ != nullptr && i < run_->analysis.ranks.size(); ++i) {
        if (run_->analysis.ranks[i].rank == content_->ranks[row].rank) {
          return std::optional<double>(run_->analysis.ranks[i].*figure);
        }
      }
      return std::optional<double>();
    };
  }

  const std::shared_ptr<const LiveContent> content_;
  const std::shared_ptr<const AnalysedRun> run_;
};

}  // namespace

std::shared_ptr<const TableRows> liveRows(std::shared_ptr<const LiveContent> content,
                                          std::shared_ptr<const AnalysedRun> run) {
  return std::make_shared<LiveRows>(std::move(content), std::move(run));
}

}  // namespace lockstep::ui
