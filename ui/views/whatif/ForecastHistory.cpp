#include "ui/views/whatif/ForecastHistory.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/analysis/RecordedSteps.h"
#include "engine/cost/Replay.h"
#include "engine/cost/Sample.h"
#include "engine/trace/RunFile.h"

namespace lockstep::ui {
namespace {

/// What a run came to: one of both, or nothing while it goes on.
struct Ending {
  QString run;
  std::optional<PastForecast::Measured> measured;
  QString ended;
};

/// The medians over the last steps, as a forecast has them. [any-thread]
Ending endingOf(const QString& run, int rank) {
  Ending ending{run, {}, {}};
  const auto summary = trace::readRunSummary(run.toStdString());
  if (!summary.ok()) {
    return ending;  // it comes up, or is gone
  }
  const trace::RunState state = summary.value().info.state;
  if (trace::isLive(state)) {
    return ending;
  }
  if (state != trace::RunState::kFinished) {
    ending.ended = ForecastHistory::tr("it did not finish");
    return ending;
  }
  const auto recorded = analysis::readRecordedSteps(run.toStdString());
  std::vector<double> steps;
  std::vector<double> exposed;
  if (recorded.ok()) {
    for (const analysis::RecordedStep& step : recorded.value().steps) {
      PastForecast::Measured sum;
      std::size_t count = 0;
      const cost::StepOutcome outcome = cost::measuredOutcome(step.record);
      for (std::size_t r = 0; r < outcome.ranks.size(); ++r) {
        if (rank == PastForecast::kMeanOfRanks || step.record.ranks[r].rank == rank) {
          sum.stepNs += outcome.ranks[r].stepNs;
          sum.exposedNs += outcome.ranks[r].exposedNs;
          ++count;
        }
      }
      if (count > 0) {
        steps.push_back(sum.stepNs / static_cast<double>(count));
        exposed.push_back(sum.exposedNs / static_cast<double>(count));
      }
    }
  }
  if (steps.empty()) {
    ending.ended = ForecastHistory::tr("it recorded no whole iteration");
  } else {
    ending.measured = {*cost::median(std::move(steps)), *cost::median(std::move(exposed))};
  }
  return ending;
}

QJsonArray toJson(const cost::Estimate& estimate) {
  return {estimate.value, estimate.low, estimate.high};
}

std::optional<cost::Estimate> estimateFrom(const QJsonValue& value) {
  const QJsonArray three = value.toArray();
  const bool whole = three.size() == 3 && std::all_of(three.begin(), three.end(),
                                                      [](const auto& of) { return of.isDouble(); });
  return whole ? std::optional(
                     cost::Estimate{three[0].toDouble(), three[1].toDouble(), three[2].toDouble()})
               : std::nullopt;
}

const QString kRun = QStringLiteral("run");
const QString kChange = QStringLiteral("change");
const QString kRank = QStringLiteral("rank");
const QString kStep = QStringLiteral("step_ns");
const QString kExposed = QStringLiteral("exposed_ns");
const QString kMeasuredStep = QStringLiteral("measured_step_ns");
const QString kMeasuredExposed = QStringLiteral("measured_exposed_ns");
const QString kEnded = QStringLiteral("ended");

QByteArray lineOf(const QJsonObject& object) {
  return QJsonDocument(object).toJson(QJsonDocument::Compact) + '\n';
}

bool within(const cost::Estimate& estimate, double ns) {
  return estimate.low <= ns && ns <= estimate.high;
}

}  // namespace

bool PastForecast::stepHeld() const {
  return measured && within(stepNs, measured->stepNs);
}

bool PastForecast::exposedHeld() const {
  return measured && within(exposedNs, measured->exposedNs);
}

double PastForecast::errorPercent() const {
  return measured && measured->stepNs > 0
             ? 100 * std::abs(stepNs.value - measured->stepNs) / measured->stepNs
             : 0;
}

ForecastHistory::ForecastHistory(QString file, QObject* parent)
    : QObject(parent), file_(std::move(file)) {
  read();
}

const PastForecast* ForecastHistory::of(const QString& run) const {
  const auto at = std::find_if(forecasts_.begin(), forecasts_.end(),
                               [&run](const PastForecast& one) { return one.run == run; });
  return at == forecasts_.end() ? nullptr : &*at;
}

PastForecast* ForecastHistory::find(const QString& run) {
  const PastForecast* at = of(run);
  return at == nullptr ? nullptr : &forecasts_[static_cast<std::size_t>(at - forecasts_.data())];
}

void ForecastHistory::read() {
  QFile file(file_);
  if (!file.open(QIODevice::ReadOnly)) {
    return;  // nothing was run yet
  }
  while (!file.atEnd()) {
    const QByteArray line = file.readLine().trimmed();
    damaged_ += line.isEmpty() || take(line) ? 0 : 1;
  }
}

/// A line is a forecast, or what came of one before it.
bool ForecastHistory::take(const QByteArray& line) {
  const QJsonObject object = QJsonDocument::fromJson(line).object();
  const QString run = object[kRun].toString();
  if (run.isEmpty()) {
    return false;
  }
  if (object.contains(kStep)) {
    const auto step = estimateFrom(object[kStep]);
    const auto exposed = estimateFrom(object[kExposed]);
    if (!step || !exposed || !object[kRank].isDouble() || of(run) != nullptr) {
      return false;
    }
    forecasts_.push_back(
        {run, object[kChange].toString(), object[kRank].toInt(), *step, *exposed, {}, {}});
    return true;
  }
  PastForecast* forecast = find(run);
  if (forecast == nullptr) {
    return false;
  }
  forecast->ended = object[kEnded].toString();
  if (object[kMeasuredStep].isDouble() && object[kMeasuredExposed].isDouble()) {
    forecast->measured = {object[kMeasuredStep].toDouble(), object[kMeasuredExposed].toDouble()};
  }
  return !forecast->open();
}

void ForecastHistory::write(const QByteArray& line) {
  QDir().mkpath(QFileInfo(file_).path());
  QFile file(file_);
  if (!file.open(QIODevice::WriteOnly | QIODevice::Append) || file.write(line) != line.size()) {
    emit failed(tr("%1 cannot be written: %2").arg(file_, file.errorString()));
  }
}

void ForecastHistory::begin(const PastForecast& forecast) {
  if (of(forecast.run) != nullptr) {
    return;
  }
  forecasts_.push_back(forecast);
  write(lineOf({{kRun, forecast.run},
                {kChange, forecast.change},
                {kRank, forecast.rank},
                {kStep, toJson(forecast.stepNs)},
                {kExposed, toJson(forecast.exposedNs)}}));
  emit changed();
}

void ForecastHistory::measure() {
  if (job_.busy()) {
    again_ = true;
    return;
  }
  std::vector<std::pair<QString, int>> open;
  for (const PastForecast& forecast : forecasts_) {
    if (forecast.open()) {
      open.emplace_back(forecast.run, forecast.rank);
    }
  }
  if (open.empty()) {
    return;
  }
  job_.start(
      [open] {
        std::vector<Ending> endings;
        for (const auto& [run, rank] : open) {
          endings.push_back(endingOf(run, rank));
        }
        return endings;
      },
      [this](const std::vector<Ending>& endings) {
        for (const Ending& ending : endings) {
          if (ending.measured || !ending.ended.isEmpty()) {
            end(ending.run, ending.measured, ending.ended);
          }
        }
        if (std::exchange(again_, false)) {
          measure();
        }
      });
}

void ForecastHistory::giveUp(const QString& run) {
  end(run, {}, tr("it did not come up"));
}

void ForecastHistory::end(const QString& run, const std::optional<PastForecast::Measured>& measured,
                          const QString& ended) {
  PastForecast* forecast = find(run);
  if (forecast == nullptr || !forecast->open()) {
    return;
  }
  forecast->measured = measured;
  forecast->ended = ended;
  QJsonObject line{{kRun, run}};
  if (measured) {
    line[kMeasuredStep] = measured->stepNs;
    line[kMeasuredExposed] = measured->exposedNs;
  } else {
    line[kEnded] = ended;
  }
  write(lineOf(line));
  emit changed();
}

}  // namespace lockstep::ui
