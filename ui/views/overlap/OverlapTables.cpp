#include "ui/views/overlap/OverlapTables.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>
#include <utility>

#include "ui/table/ColumnRows.h"
#include "ui/views/overlap/OverlapWords.h"

namespace lockstep::ui {
namespace {

using analysis::RankOverlap;
using analysis::StepOverlap;
using analysis::StepTimes;
using analysis::TailReason;
using Content = std::shared_ptr<const OverlapContent>;

/// Rows with the content they come from; figures with so many decimals.
class ContentRows : public ColumnRows {
 public:
  ContentRows(Content content, std::size_t size) : content_(std::move(content)), size_(size) {}
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override {
    return columns_[column].number ? QString() : text(row, column);
  }
  // A live run's table grows.
  [[nodiscard]] bool continues(const TableRows& before) const override {
    return before.size() > 0 && size() >= before.size();
  }

 protected:
  void add(const char* title, const char* tip, Number number, int decimals) {
    figures(tr(title), tr(tip), std::move(number), [decimals](double value) {
      return std::isnan(value) ? QString() : QString::number(value, 'f', decimals);
    });
  }
  void whole(const char* title, const char* tip, Number number) {
    add(title, tip, std::move(number), 0);
  }
  void ms(const char* title, const char* tip, Number number) {
    add(title, tip, std::move(number), 3);
  }
  void percent(const char* title, const char* tip, Number number) {
    add(title, tip, std::move(number), 2);
  }
  void said(const char* title, const char* tip, Text text) {
    words({tr(title), tr(tip)}, std::move(text));
  }

  const Content content_;

 private:
  const std::size_t size_;
};

class OverlapSteps : public ContentRows {
 public:
  explicit OverlapSteps(const Content& content)
      : ContentRows(content, content == nullptr ? 0 : content->rows) {
    const auto of = [this](auto figure) -> Number {
      return [this, figure](std::size_t row) {
        return std::optional<double>(std::invoke(figure, content_->at(row)));
      };
    };
    const auto times = [&](auto figure) {
      return of([figure](const StepOverlap& step) { return step.times.*figure; });
    };
    whole("Rank", "The rank", times(&StepTimes::rank));
    whole("Iteration", "The iteration, counted from 0", times(&StepTimes::step));
    ms("Step ms", "The whole iteration, in ms", times(&StepTimes::stepMs));
    ms("Forward ms", "The forward pass, in ms", times(&StepTimes::forwardMs));
    ms("Backward ms", "The backward pass with the waits for buckets at its end, in ms",
       times(&StepTimes::backwardMs));
    ms("Optimizer ms", "The optimizer's step, in ms", times(&StepTimes::optimizerMs));
    ms("In flight ms", "Time in which any collective was under way, waiting included, in ms",
       times(&StepTimes::inFlightMs));
    ms("Overlap ms", "The part of it in which this rank computed, in ms",
       times(&StepTimes::overlapMs));
    ms("Exposed ms", "The part of it in which this rank did not compute, in ms",
       times(&StepTimes::exposedMs));
    percent("Overlap %", "Overlap ms over in flight ms", times(&StepTimes::overlapPercent));
    ms("Waiting ms", "Of the exposed: until the last rank had come, in ms",
       of(&StepOverlap::waitingMs));
    ms("Transfer ms", "Of the exposed: once all ranks had come, in ms",
       of(&StepOverlap::transferMs));
    ms("Other ms", "Neither computing nor in flight: data, copies, waking up, in ms",
       of(&StepOverlap::otherMs));
    said("Cause", "The largest part of the exposed time and what it is due to",
         [this](std::size_t row) {
           const StepOverlap& step = content_->at(row);
           return step.times.incomplete ? QStringLiteral("events dropped")
                                        : overlap_words::causeOf(step);
         });
  }
  // A rank that gets a step moves those of all ranks after it.
  [[nodiscard]] std::optional<std::size_t> placeOf(const TableRows& before,
                                                   std::size_t row) const override {
    const StepTimes& then = static_cast<const OverlapSteps&>(before).content_->at(row).times;
    return content_->rowOf(then.rank, then.step);
  }
};

class OverlapCauses : public ContentRows {
 public:
  explicit OverlapCauses(const Content& content)
      : ContentRows(content, content == nullptr ? 0 : content->reasons.size()) {
    const auto of = [this](auto figure) -> Number {
      return [this, figure](std::size_t row) {
        return std::optional<double>(figure(content_->reasons[row]));
      };
    };
    const auto sentence = [this](auto words) -> Text {
      return [this, words](std::size_t row) {
        return QString::fromStdString(words(content_->reasons[row].mean));
      };
    };
    said("Cause", "What exposed time is due to", sentence(analysis::title));
    ms("Ms a step",
       "Mean over ranks and measured iterations, in ms; they add up to the mean of the exposed "
       "time",
       of([](const TailReason& reason) { return reason.mean.ms; }));
    percent("Share %", "Of all exposed time",
            of([](const TailReason& reason) { return 100 * reason.share; }));
    whole("Iterations", "In how many iterations it struck",
          of([](const TailReason& reason) { return reason.steps; }));
    ms("Worst ms", "The largest part, in ms",
       of([](const TailReason& reason) { return reason.worst.ms; }));
    whole("Worst rank", "The rank that it struck most",
          of([](const TailReason& reason) { return reason.worst.rank; }));
    whole("Worst iteration", "The iteration of that",
          of([](const TailReason& reason) { return reason.worst.step; }));
    said("Why", "Figures are means of where it struck", sentence(analysis::explanation));
  }
  // The largest cause stands first, and that may be another than before.
  [[nodiscard]] std::optional<std::size_t> placeOf(const TableRows& before,
                                                   std::size_t row) const override {
    const auto rows = std::views::iota(std::size_t{0}, size());
    const auto at = std::ranges::find(rows, before.text(row, 0),
                                      [this](std::size_t now) { return text(now, 0); });
    return at == rows.end() ? std::nullopt : std::optional(*at);
  }
};

// Two rows a rank: its medians after the warm-up, and below them those of all iterations.
class OverlapRanks : public ContentRows {
 public:
  explicit OverlapRanks(const Content& content)
      : ContentRows(content, content == nullptr ? 0 : 2 * content->ranks.size()) {
    const auto of = [this](auto figure) -> Number {
      return [this, figure](std::size_t row) {
        const auto& medians = mediansOf(row);
        return medians ? std::optional<double>(std::invoke(figure, *medians)) : std::nullopt;
      };
    };
    whole("Rank", "The rank", [this](std::size_t row) { return content_->ranks[row / 2].rank; });
    said("Over", "Which iterations the medians are over", [](std::size_t row) {
      return row % 2 == 0 ? QStringLiteral("after warm-up") : QStringLiteral("all");
    });
    words(
        {tr("Iterations"), tr("How many these are"), true},
        [this](std::size_t row) {
          const auto& medians = mediansOf(row);
          return medians ? QString::number(medians->steps) : QStringLiteral("0");
        },
        of(&RankOverlap::steps));
    ms("Step ms", "Median, in ms, here and in all others", of(&RankOverlap::stepMs));
    ms("Forward ms", "The forward pass", of(&RankOverlap::forwardMs));
    ms("Backward ms", "The backward pass with its waits for buckets", of(&RankOverlap::backwardMs));
    ms("Optimizer ms", "The optimizer's step", of(&RankOverlap::optimizerMs));
    ms("In flight ms", "Any collective under way", of(&RankOverlap::inFlightMs));
    percent("Overlap %", "Of that, this rank computed", of(&RankOverlap::overlapPercent));
    ms("Exposed ms", "Of that, this rank did not compute", of(&RankOverlap::exposedMs));
    ms("Waiting ms", "Exposed, for the last rank to come", of(&RankOverlap::waitingMs));
    ms("Transfer ms", "Exposed, once all had come", of(&RankOverlap::transferMs));
    ms("Headroom ms", "The most that overlap can hide: the less of backward and transfer",
       of(&RankOverlap::headroomMs));
    percent("Headroom %", "Of forward, backward and transfer", of(&RankOverlap::headroomPercent));
    ms("Hidden ms", "Transfer that is hidden now", of(&RankOverlap::hiddenMs));
    ms("Perfect ms", "The step if all headroom were used", of(&RankOverlap::perfectMs));
    ms("Noop ms", "The step less its exposed transfer", of(&RankOverlap::noopMs));
    percent("Noop faster %", "Below 10 % transfer is not the bottleneck",
            of(&RankOverlap::noopFasterPercent));
  }

 private:
  [[nodiscard]] const std::optional<RankOverlap>& mediansOf(std::size_t row) const {
    const OverlapContent::Rank& rank = content_->ranks[row / 2];
    return row % 2 == 0 ? rank.measured : rank.all;
  }
};

class BucketCells : public ColumnRows {
 public:
  BucketCells(std::shared_ptr<const BucketContent> content, const CellChoice& choice)
      : ColumnRows(QStringLiteral("unknown")), content_(std::move(content)) {
    const auto buckets = static_cast<std::size_t>(content_->delays.buckets);
    const auto count = [](double value) { return QString::number(value, 'f', 0); };
    figures(
        tr("Rank"), tr("The rank"),
        [this, buckets](std::size_t row) {
          return std::optional<double>(content_->delays.ranks[row / buckets]);
        },
        count);
    figures(
        tr("Bucket"), tr("The bucket, by its number in the last layout"),
        [buckets](std::size_t row) {
          return std::optional<double>(static_cast<double>(row % buckets));
        },
        count);
    for (std::size_t i = 0; i < kCellFigures; ++i) {
      CellChoice of = choice;
      of.figure = static_cast<CellFigure>(i);
      figures(
          titleOf(of.figure) + QStringLiteral(" (ms)"), meaningOf(of.figure),
          [this, buckets, of](std::size_t row) {
            return content_->valueOf(row / buckets, static_cast<int>(row % buckets), of);
          },
          [](double ms) { return QString::number(ms, 'f', 3); });
    }
    figures(
        tr("Iterations"), tr("Measured, the warm-up left out"),
        [this](std::size_t row) {
          return std::optional<double>(content_->delays.cells[row].measuredSteps);
        },
        count);
  }
  [[nodiscard]] std::size_t size() const override { return content_->delays.cells.size(); }
  // Another run empties the table in between.
  [[nodiscard]] bool continues(const TableRows&) const override { return true; }
  // Of a live run, ranks and buckets may come in between.
  [[nodiscard]] std::optional<std::size_t> placeOf(const TableRows& before,
                                                   std::size_t row) const override {
    const auto rank = content_->indexOf(static_cast<int>(before.number(row, 0).value_or(-1)));
    const auto bucket = static_cast<std::size_t>(before.number(row, 1).value_or(0));
    const auto buckets = static_cast<std::size_t>(content_->delays.buckets);
    return rank && bucket < buckets ? std::optional(*rank * buckets + bucket) : std::nullopt;
  }

 private:
  const std::shared_ptr<const BucketContent> content_;
};

}  // namespace

std::shared_ptr<const TableRows> overlapSteps(Content content) {
  return std::make_shared<OverlapSteps>(content);
}

std::shared_ptr<const TableRows> overlapCauses(Content content) {
  return std::make_shared<OverlapCauses>(content);
}

std::shared_ptr<const TableRows> overlapRanks(Content content) {
  return std::make_shared<OverlapRanks>(content);
}

std::shared_ptr<const TableRows> bucketCells(std::shared_ptr<const BucketContent> content,
                                             const CellChoice& choice) {
  return std::make_shared<BucketCells>(std::move(content), choice);
}

}  // namespace lockstep::ui
