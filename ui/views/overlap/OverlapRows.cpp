#include <array>

#include "ui/views/overlap/OverlapTables.h"
#include "ui/views/overlap/OverlapWords.h"

// What stands in the rows of the overlap view's tables.
namespace lockstep::ui {
namespace {

using analysis::RankOverlap;
using analysis::StepOverlap;
using analysis::TailReason;

double orNone(const std::optional<double>& value, double none) {
  return value.value_or(none);
}

QString percent(double value) {
  return QString::number(value, 'f', 2);
}

}  // namespace

// --- steps ---

OverlapSteps::OverlapSteps(QObject* parent)
    : OverlapTable(
          {{QStringLiteral("Rank"), QStringLiteral("The rank")},
           {QStringLiteral("Iteration"), QStringLiteral("The iteration, counted from 0")},
           {QStringLiteral("Step ms"), QStringLiteral("The whole iteration, in ms")},
           {QStringLiteral("Forward ms"), QStringLiteral("The forward pass, in ms")},
           {QStringLiteral("Backward ms"),
            QStringLiteral("The backward pass with the waits at its end, in ms")},
           {QStringLiteral("Optimizer ms"), QStringLiteral("The optimizer's step, in ms")},
           {QStringLiteral("In flight ms"),
            QStringLiteral("Time in which any collective was under way, waiting for peers "
                           "included, in ms")},
           {QStringLiteral("Overlap ms"),
            QStringLiteral("The part of it in which this rank computed, in ms")},
           {QStringLiteral("Exposed ms"),
            QStringLiteral("The part of it in which this rank did not compute, in ms")},
           {QStringLiteral("Overlap %"), QStringLiteral("Overlap ms over in flight ms")},
           {QStringLiteral("Waiting ms"),
            QStringLiteral("Of the exposed: until the last rank had come, in ms")},
           {QStringLiteral("Transfer ms"),
            QStringLiteral("Of the exposed: once all ranks had come, in ms")},
           {QStringLiteral("Other ms"),
            QStringLiteral("Neither computing nor in flight: data, copies, waking up, in ms")},
           {QStringLiteral("Cause"),
            QStringLiteral("The largest part of the exposed time and what it is due to"), false}},
          parent) {}

std::size_t OverlapSteps::rows(const OverlapContent& content) const {
  return content.steps.size();
}

std::optional<OverlapStep> OverlapSteps::stepOf(std::size_t row) const {
  const analysis::StepTimes& times = content().steps[row].times;
  return OverlapStep{times.rank, times.step};
}

std::optional<std::size_t> OverlapSteps::rowOf(const OverlapStep& step) const {
  if (rowCount() == 0) {
    return std::nullopt;
  }
  const StepOverlap* found = content().step(step.rank, step.step);
  return found == nullptr ? std::nullopt
                          : std::optional(static_cast<std::size_t>(found - content().steps.data()));
}

double OverlapSteps::number(std::size_t row, std::size_t column) const {
  const StepOverlap& step = content().steps[row];
  const analysis::StepTimes& times = step.times;
  const std::array<double, 13> values{static_cast<double>(times.rank),
                                      static_cast<double>(times.step),
                                      times.stepMs,
                                      times.forwardMs,
                                      times.backwardMs,
                                      times.optimizerMs,
                                      times.inFlightMs,
                                      times.overlapMs,
                                      times.exposedMs,
                                      orNone(times.overlapPercent, kNone),
                                      step.waitingMs,
                                      step.transferMs,
                                      step.otherMs};
  return column < values.size() ? values[column] : kNone;
}

std::optional<QString> OverlapSteps::text(std::size_t row, std::size_t column) const {
  const StepOverlap& step = content().steps[row];
  switch (column) {
    case 0:
      return QString::number(step.times.rank);
    case 1:
      return QString::number(step.times.step);
    case 9:
      return step.times.overlapPercent ? percent(*step.times.overlapPercent) : QString();
    case 13:
      return step.times.incomplete ? QStringLiteral("events dropped")
                                   : overlap_words::causeOf(step);
    default:
      return std::nullopt;
  }
}

// --- causes ---

OverlapCauses::OverlapCauses(QObject* parent)
    : OverlapTable(
          {{QStringLiteral("Cause"), QStringLiteral("What exposed time is due to"), false},
           {QStringLiteral("Ms a step"),
            QStringLiteral("Mean over ranks and measured iterations, in ms; they add up to the "
                           "mean of the exposed time")},
           {QStringLiteral("Share %"), QStringLiteral("Of all exposed time")},
           {QStringLiteral("Iterations"), QStringLiteral("In how many iterations it struck")},
           {QStringLiteral("Worst ms"), QStringLiteral("The largest part, in ms")},
           {QStringLiteral("Worst rank"), QStringLiteral("The rank that it struck most")},
           {QStringLiteral("Worst iteration"), QStringLiteral("The iteration of that")},
           {QStringLiteral("Why"), QStringLiteral("Figures are means of where it struck"), false}},
          parent) {}

std::size_t OverlapCauses::rows(const OverlapContent& content) const {
  return content.reasons.size();
}

std::optional<OverlapStep> OverlapCauses::stepOf(std::size_t row) const {
  const analysis::TailItem& worst = content().reasons[row].worst;
  return OverlapStep{worst.rank, worst.step};
}

double OverlapCauses::number(std::size_t row, std::size_t column) const {
  const TailReason& reason = content().reasons[row];
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
      return kNone;
  }
}

std::optional<QString> OverlapCauses::text(std::size_t row, std::size_t column) const {
  const TailReason& reason = content().reasons[row];
  switch (column) {
    case 0:
      return QString::fromStdString(analysis::title(reason.mean));
    case 2:
      return percent(100 * reason.share);
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

// --- ranks ---

OverlapRanks::OverlapRanks(QObject* parent)
    : OverlapTable(
          {{QStringLiteral("Rank"), QStringLiteral("The rank")},
           {QStringLiteral("Over"), QStringLiteral("Which iterations the medians are over"), false},
           {QStringLiteral("Iterations"), QStringLiteral("How many these are")},
           {QStringLiteral("Step ms"), QStringLiteral("Median, in ms, here and in all others")},
           {QStringLiteral("Forward ms"), QStringLiteral("The forward pass")},
           {QStringLiteral("Backward ms"), QStringLiteral("The backward pass with its waits")},
           {QStringLiteral("Optimizer ms"), QStringLiteral("The optimizer's step")},
           {QStringLiteral("In flight ms"), QStringLiteral("Any collective under way")},
           {QStringLiteral("Overlap %"), QStringLiteral("Of that, this rank computed")},
           {QStringLiteral("Exposed ms"), QStringLiteral("Of that, this rank did not compute")},
           {QStringLiteral("Waiting ms"), QStringLiteral("Exposed, for the last rank to come")},
           {QStringLiteral("Transfer ms"), QStringLiteral("Exposed, once all had come")},
           {QStringLiteral("Headroom ms"),
            QStringLiteral("The most that overlap can hide: the less of backward and transfer")},
           {QStringLiteral("Headroom %"), QStringLiteral("Of forward, backward and transfer")},
           {QStringLiteral("Hidden ms"), QStringLiteral("Transfer that is hidden now")},
           {QStringLiteral("Perfect ms"), QStringLiteral("The step if all headroom were used")},
           {QStringLiteral("Noop ms"), QStringLiteral("The step less its exposed transfer")},
           {QStringLiteral("Noop faster %"),
            QStringLiteral("Below 10 % transfer is not the bottleneck")}},
          parent) {}

std::size_t OverlapRanks::rows(const OverlapContent& content) const {
  return 2 * content.ranks.size();
}

const std::optional<RankOverlap>& OverlapRanks::of(std::size_t row) const {
  const OverlapContent::Rank& rank = content().ranks[row / 2];
  return row % 2 == 0 ? rank.measured : rank.all;
}

std::optional<OverlapStep> OverlapRanks::stepOf(std::size_t) const {
  return std::nullopt;
}

double OverlapRanks::number(std::size_t row, std::size_t column) const {
  const auto& of = this->of(row);
  if (column == 0) {
    return content().ranks[row / 2].rank;
  }
  if (!of) {
    return kNone;
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
      return orNone(of->inFlightMs, kNone);
    case 8:
      return orNone(of->overlapPercent, kNone);
    case 9:
      return orNone(of->exposedMs, kNone);
    case 10:
      return orNone(of->waitingMs, kNone);
    case 11:
      return orNone(of->transferMs, kNone);
    case 12:
      return orNone(of->headroomMs, kNone);
    case 13:
      return orNone(of->headroomPercent, kNone);
    case 14:
      return orNone(of->hiddenMs, kNone);
    case 15:
      return orNone(of->perfectMs, kNone);
    case 16:
      return of->noopMs;
    case 17:
      return of->noopFasterPercent;
    default:
      return kNone;
  }
}

std::optional<QString> OverlapRanks::text(std::size_t row, std::size_t column) const {
  const auto& of = this->of(row);
  switch (column) {
    case 0:
      return QString::number(content().ranks[row / 2].rank);
    case 1:
      return row % 2 == 0 ? QStringLiteral("after warm-up") : QStringLiteral("all");
    case 2:
      return of ? QString::number(of->steps) : QStringLiteral("0");
    case 8:
      return of && of->overlapPercent ? percent(*of->overlapPercent) : QString();
    case 13:
      return of && of->headroomPercent ? percent(*of->headroomPercent) : QString();
    case 17:
      return of ? percent(of->noopFasterPercent) : QString();
    default:
      return std::nullopt;
  }
}

}  // namespace lockstep::ui
