#include "ui/views/overlap/OverlapTables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include "ui/views/overlap/OverlapWords.h"

namespace lockstep::ui {
namespace {

using analysis::RankOverlap;
using analysis::StepOverlap;
using analysis::TailReason;

QString percentFigure(double value) {
  return QString::number(value, 'f', 2);
}

/// Rows with the content they come from.
class ContentRows : public TableRows {
 public:
  ContentRows(std::shared_ptr<const OverlapContent> content, std::vector<Column> columns)
      : TableRows(std::move(columns)), content_(std::move(content)) {}

  [[nodiscard]] std::size_t size() const override {
    return content_ == nullptr ? 0 : rows(*content_);
  }
  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    if (auto own = words(row, column)) {
      return *std::move(own);
    }
    const auto value = number(row, column);
    return value && !std::isnan(*value) ? QString::number(*value, 'f', 3) : QString();
  }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override {
    return columns_[column].number ? QString() : text(row, column);
  }
  // A live run's table grows.
  [[nodiscard]] bool continues(const TableRows& before) const override {
    return before.size() > 0 && size() >= before.size();
  }

 protected:
  [[nodiscard]] virtual std::size_t rows(const OverlapContent& content) const = 0;
  /// The text of a cell that is no number of ms.
  [[nodiscard]] virtual std::optional<QString> words(std::size_t row, std::size_t column) const = 0;

  std::shared_ptr<const OverlapContent> content_;
};

class OverlapSteps : public ContentRows {
 public:
  explicit OverlapSteps(std::shared_ptr<const OverlapContent> content);
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<std::size_t> placeOf(const TableRows& before,
                                                   std::size_t row) const override;

 protected:
  [[nodiscard]] std::size_t rows(const OverlapContent& content) const override;
  [[nodiscard]] std::optional<QString> words(std::size_t row, std::size_t column) const override;
};

OverlapSteps::OverlapSteps(std::shared_ptr<const OverlapContent> content)
    : ContentRows(
          std::move(content),
          {{QStringLiteral("Rank"), QStringLiteral("The rank"), true},
           {QStringLiteral("Iteration"), QStringLiteral("The iteration, counted from 0"), true},
           {QStringLiteral("Step ms"), QStringLiteral("The whole iteration, in ms"), true},
           {QStringLiteral("Forward ms"), QStringLiteral("The forward pass, in ms"), true},
           {QStringLiteral("Backward ms"),
            QStringLiteral("The backward pass with the waits at its end, in ms"), true},
           {QStringLiteral("Optimizer ms"), QStringLiteral("The optimizer's step, in ms"), true},
           {QStringLiteral("In flight ms"),
            QStringLiteral("Time in which any collective was under way, waiting for peers "
                           "included, in ms"),
            true},
           {QStringLiteral("Overlap ms"),
            QStringLiteral("The part of it in which this rank computed, in ms"), true},
           {QStringLiteral("Exposed ms"),
            QStringLiteral("The part of it in which this rank did not compute, in ms"), true},
           {QStringLiteral("Overlap %"), QStringLiteral("Overlap ms over in flight ms"), true},
           {QStringLiteral("Waiting ms"),
            QStringLiteral("Of the exposed: until the last rank had come, in ms"), true},
           {QStringLiteral("Transfer ms"),
            QStringLiteral("Of the exposed: once all ranks had come, in ms"), true},
           {QStringLiteral("Other ms"),
            QStringLiteral("Neither computing nor in flight: data, copies, waking up, in ms"),
            true},
           {QStringLiteral("Cause"),
            QStringLiteral("The largest part of the exposed time and what it is due to"), false}}) {
}

std::size_t OverlapSteps::rows(const OverlapContent& content) const {
  return content.steps.size();
}

// A rank that gets a step moves those of all ranks after it.
std::optional<std::size_t> OverlapSteps::placeOf(const TableRows& before, std::size_t row) const {
  const analysis::StepTimes& then =
      static_cast<const OverlapSteps&>(before).content_->steps[row].times;
  const StepOverlap* now = content_->step(then.rank, then.step);
  return now == nullptr ? std::nullopt
                        : std::optional(static_cast<std::size_t>(now - content_->steps.data()));
}

std::optional<double> OverlapSteps::number(std::size_t row, std::size_t column) const {
  const StepOverlap& step = content_->steps[row];
  const analysis::StepTimes& times = step.times;
  const std::array<std::optional<double>, 13> values{static_cast<double>(times.rank),
                                                     static_cast<double>(times.step),
                                                     times.stepMs,
                                                     times.forwardMs,
                                                     times.backwardMs,
                                                     times.optimizerMs,
                                                     times.inFlightMs,
                                                     times.overlapMs,
                                                     times.exposedMs,
                                                     times.overlapPercent,
                                                     step.waitingMs,
                                                     step.transferMs,
                                                     step.otherMs};
  return column < values.size() ? values[column] : std::nullopt;
}

std::optional<QString> OverlapSteps::words(std::size_t row, std::size_t column) const {
  const StepOverlap& step = content_->steps[row];
  switch (column) {
    case 0:
      return QString::number(step.times.rank);
    case 1:
      return QString::number(step.times.step);
    case 9:
      return step.times.overlapPercent ? percentFigure(*step.times.overlapPercent) : QString();
    case 13:
      return step.times.incomplete ? QStringLiteral("events dropped")
                                   : overlap_words::causeOf(step);
    default:
      return std::nullopt;
  }
}

class OverlapCauses : public ContentRows {
 public:
  explicit OverlapCauses(std::shared_ptr<const OverlapContent> content);
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<std::size_t> placeOf(const TableRows& before,
                                                   std::size_t row) const override;

 protected:
  [[nodiscard]] std::size_t rows(const OverlapContent& content) const override;
  [[nodiscard]] std::optional<QString> words(std::size_t row, std::size_t column) const override;
};

OverlapCauses::OverlapCauses(std::shared_ptr<const OverlapContent> content)
    : ContentRows(
          std::move(content),
          {{QStringLiteral("Cause"), QStringLiteral("What exposed time is due to"), false},
           {QStringLiteral("Ms a step"),
            QStringLiteral("Mean over ranks and measured iterations, in ms; they add up to the "
                           "mean of the exposed time"),
            true},
           {QStringLiteral("Share %"), QStringLiteral("Of all exposed time"), true},
           {QStringLiteral("Iterations"), QStringLiteral("In how many iterations it struck"), true},
           {QStringLiteral("Worst ms"), QStringLiteral("The largest part, in ms"), true},
           {QStringLiteral("Worst rank"), QStringLiteral("The rank that it struck most"), true},
           {QStringLiteral("Worst iteration"), QStringLiteral("The iteration of that"), true},
           {QStringLiteral("Why"), QStringLiteral("Figures are means of where it struck"),
            false}}) {}

std::size_t OverlapCauses::rows(const OverlapContent& content) const {
  return content.reasons.size();
}

// The largest cause stands first, and that may be another than before.
std::optional<std::size_t> OverlapCauses::placeOf(const TableRows& before, std::size_t row) const {
  const auto rows = std::views::iota(std::size_t{0}, size());
  const auto at = std::ranges::find(rows, before.text(row, 0),
                                    [this](std::size_t now) { return text(now, 0); });
  return at == rows.end() ? std::nullopt : std::optional(*at);
}

std::optional<double> OverlapCauses::number(std::size_t row, std::size_t column) const {
  const TailReason& reason = content_->reasons[row];
  switch (column) {
    case 1:
      return reason.mean.ms;
    case 2:
      return 100 * reason.share;
    case 3:
      return reason.steps;
    case 4:
      return reason.worst.ms;
    case 5:
      return reason.worst.rank;
    case 6:
      return reason.worst.step;
    default:
      return std::nullopt;
  }
}

std::optional<QString> OverlapCauses::words(std::size_t row, std::size_t column) const {
  const TailReason& reason = content_->reasons[row];
  switch (column) {
    case 0:
      return QString::fromStdString(analysis::title(reason.mean));
    case 2:
      return percentFigure(100 * reason.share);
    case 3:
      return QString::number(reason.steps);
    case 5:
      return QString::number(reason.worst.rank);
    case 6:
      return QString::number(reason.worst.step);
    case 7:
      return QString::fromStdString(analysis::explanation(reason.mean));
    default:
      return std::nullopt;
  }
}

class OverlapRanks : public ContentRows {
 public:
  explicit OverlapRanks(std::shared_ptr<const OverlapContent> content);
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override;

 protected:
  [[nodiscard]] std::size_t rows(const OverlapContent& content) const override;
  [[nodiscard]] std::optional<QString> words(std::size_t row, std::size_t column) const override;

 private:
  [[nodiscard]] const std::optional<RankOverlap>& of(std::size_t row) const;
};

OverlapRanks::OverlapRanks(std::shared_ptr<const OverlapContent> content)
    : ContentRows(
          std::move(content),
          {{QStringLiteral("Rank"), QStringLiteral("The rank"), true},
           {QStringLiteral("Over"), QStringLiteral("Which iterations the medians are over"), false},
           {QStringLiteral("Iterations"), QStringLiteral("How many these are"), true},
           {QStringLiteral("Step ms"), QStringLiteral("Median, in ms, here and in all others"),
            true},
           {QStringLiteral("Forward ms"), QStringLiteral("The forward pass"), true},
           {QStringLiteral("Backward ms"), QStringLiteral("The backward pass with its waits"),
            true},
           {QStringLiteral("Optimizer ms"), QStringLiteral("The optimizer's step"), true},
           {QStringLiteral("In flight ms"), QStringLiteral("Any collective under way"), true},
           {QStringLiteral("Overlap %"), QStringLiteral("Of that, this rank computed"), true},
           {QStringLiteral("Exposed ms"), QStringLiteral("Of that, this rank did not compute"),
            true},
           {QStringLiteral("Waiting ms"), QStringLiteral("Exposed, for the last rank to come"),
            true},
           {QStringLiteral("Transfer ms"), QStringLiteral("Exposed, once all had come"), true},
           {QStringLiteral("Headroom ms"),
            QStringLiteral("The most that overlap can hide: the less of backward and transfer"),
            true},
           {QStringLiteral("Headroom %"), QStringLiteral("Of forward, backward and transfer"),
            true},
           {QStringLiteral("Hidden ms"), QStringLiteral("Transfer that is hidden now"), true},
           {QStringLiteral("Perfect ms"), QStringLiteral("The step if all headroom were used"),
            true},
           {QStringLiteral("Noop ms"), QStringLiteral("The step less its exposed transfer"), true},
           {QStringLiteral("Noop faster %"),
            QStringLiteral("Below 10 % transfer is not the bottleneck"), true}}) {}

std::size_t OverlapRanks::rows(const OverlapContent& content) const {
  return 2 * content.ranks.size();
}

const std::optional<RankOverlap>& OverlapRanks::of(std::size_t row) const {
  const OverlapContent::Rank& rank = content_->ranks[row / 2];
  return row % 2 == 0 ? rank.measured : rank.all;
}

std::optional<double> OverlapRanks::number(std::size_t row, std::size_t column) const {
  const auto& of = this->of(row);
  if (column == 0) {
    return content_->ranks[row / 2].rank;
  }
  if (!of) {
    return std::nullopt;
  }
  switch (column) {
    case 2:
      return of->steps;
    case 3:
      return of->stepMs;
    case 4:
      return of->forwardMs;
    case 5:
      return of->backwardMs;
    case 6:
      return of->optimizerMs;
    case 7:
      return of->inFlightMs;
    case 8:
      return of->overlapPercent;
    case 9:
      return of->exposedMs;
    case 10:
      return of->waitingMs;
    case 11:
      return of->transferMs;
    case 12:
      return of->headroomMs;
    case 13:
      return of->headroomPercent;
    case 14:
      return of->hiddenMs;
    case 15:
      return of->perfectMs;
    case 16:
      return of->noopMs;
    case 17:
      return of->noopFasterPercent;
    default:
      return std::nullopt;
  }
}

std::optional<QString> OverlapRanks::words(std::size_t row, std::size_t column) const {
  const auto& of = this->of(row);
  switch (column) {
    case 0:
      return QString::number(content_->ranks[row / 2].rank);
    case 1:
      return row % 2 == 0 ? QStringLiteral("after warm-up") : QStringLiteral("all");
    case 2:
      return of ? QString::number(of->steps) : QStringLiteral("0");
    case 8:
      return of && of->overlapPercent ? percentFigure(*of->overlapPercent) : QString();
    case 13:
      return of && of->headroomPercent ? percentFigure(*of->headroomPercent) : QString();
    case 17:
      return of ? percentFigure(of->noopFasterPercent) : QString();
    default:
      return std::nullopt;
  }
}

}  // namespace

std::shared_ptr<const TableRows> overlapSteps(std::shared_ptr<const OverlapContent> content) {
  return std::make_shared<OverlapSteps>(std::move(content));
}

std::shared_ptr<const TableRows> overlapCauses(std::shared_ptr<const OverlapContent> content) {
  return std::make_shared<OverlapCauses>(std::move(content));
}

std::shared_ptr<const TableRows> overlapRanks(std::shared_ptr<const OverlapContent> content) {
  return std::make_shared<OverlapRanks>(std::move(content));
}

}  // namespace lockstep::ui
