#include "ui/shell/RunSession.h"

#include <algorithm>

#include "ui/model/RunTitle.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kStripSteps = 3;  // the strip has said its part after so many steps

}  // namespace

RunSession::RunSession(const QString& path, QObject* parent)
    : QObject(parent), path_(path), model_(std::filesystem::path(path.toStdString())) {
  // Not on infoChanged: that comes before the spans that stand in the file with it.
  connect(&model_, &RunModel::changed, this, &RunSession::takeChange);
  connect(&model_, &RunModel::loaded, this, &RunSession::takeChange);
  connect(&analyser_, &RunAnalyser::ready, this, [this] {
    if (!model_.isLive()) {
      analyse();
    }
  });
}

QString RunSession::name() const {
  return titleOfRun(model_);
}

quint64 RunSession::drops() const {
  quint64 sum = 0;
  for (const trace::RankInfo& rank : model_.ranks()) {
    sum += rank.eventsDropped;
  }
  return sum;
}

// Note [News of a run]
//
// The model says only that something has changed; from that this makes what is news to the window,
// and says it in this order: lines of the log, problems, how far the start-up is, and last the
// state. So whoever hears of an end finds the reasons of it listed already.
//
// Signals of the start-up come from the first thing that is read until each rank has done three
// steps or the run is over, and never after that: a run that was opened when it had ended gets
// startupEnded alone.
void RunSession::takeChange() {
  // The model's lists only grow: what is beyond the part that was seen is news.
  if (model_.log().size() > logSeen_) {
    const std::span<const trace::LogRow> all(model_.log());
    const auto fresh = all.subspan(logSeen_);
    logSeen_ = all.size();
    emit logGrew(fresh);
  }
  if (model_.problems().size() > problemsSeen_) {
    const std::span<const trace::ProblemRow> all(model_.problems());
    const auto fresh = all.subspan(problemsSeen_);
    problemsSeen_ = all.size();
    emit problemsGrew(fresh);
  }
  if (model_.info().runId.empty()) {
    return;  // nothing read yet
  }
  if (!startupOver_) {
    const StartupProgress progress = startupProgress(&model_);
    if (!model_.isLive() || progress.steps >= kStripSteps) {
      startupOver_ = true;
      startingUp_ = false;
      emit startupEnded();
    } else {
      startingUp_ = true;
      emit startupChanged(progress);
    }
  }
  const trace::RunState now = model_.info().state;
  // The file says that it has ended before all of it has been read. The signal waits for the last
  // of it, for whoever hears of an end sums up the run.
  if ((!infoSeen_ || now != stateSeen_) && (model_.isLive() || model_.isLoaded())) {
    infoSeen_ = true;
    stateSeen_ = now;
    emit stateChanged(now);
  }
}

void RunSession::analyse() {
  if (analyser_.isCurrent()) {
    emit analysed(figuresOf(analyser_.latest()->analysis));
  } else {
    analyser_.want();
  }
}

bool RunSession::showStep(std::uint32_t step, int rank) {
  auto span = rank >= 0 ? model_.step(rank, step) : std::nullopt;
  if (!span) {
    span = model_.stepOfAll(step);  // a rank that died in it recorded no end
  }
  if (!span) {
    return false;
  }
  state_.setFollowLive(false);
  state_.setRange(TimeRange{span->startNs, span->endNs}.widened(0.04));
  state_.setIteration(step);
  return true;
}

std::optional<std::uint32_t> RunSession::lastStep() const {
  std::optional<std::uint32_t> last;
  for (int rank = 0; rank < model_.rankCount(); ++rank) {
    if (const auto step = model_.lastStep(rank)) {
      last = std::max(last.value_or(0), step->step);
    }
  }
  return last;
}

std::optional<std::uint32_t> RunSession::slowestStep() const {
  const auto rebuild = model_.rebuildStep();
  const auto first = model_.firstStep();
  std::optional<std::uint32_t> slowest;
  double longestNs = 0;
  for (int rank = 0; rank < model_.rankCount(); ++rank) {
    for (const StepSpan& step : model_.steps(rank, model_.extent())) {
      // These are slow in each run: memory is taken for the first time, buckets are built anew.
      const bool warmUp = step.step == first || (rebuild && step.step <= *rebuild);
      if (!warmUp && step.endNs - step.startNs > longestNs) {
        longestNs = step.endNs - step.startNs;
        slowest = step.step;
      }
    }
  }
  return slowest;
}

}  // namespace lockstep::ui
