#include "ui/views/whatif/WhatIf.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/cost/ForecastText.h"
#include "ui/model/Format.h"
#include "ui/views/whatif/WhatIfWords.h"

namespace lockstep::ui {
namespace {

/// The place of the iteration that is shown.
std::size_t shownStep(const std::vector<cost::StepRecord>& steps,
                      std::optional<std::uint32_t> wanted) {
  std::vector<std::pair<double, std::size_t>> lengths;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].step == wanted) {
      return i;
    }
    double length = 0;
    for (const cost::RankStep& rank : steps[i].ranks) {
      length = std::max(length, rank.endNs - rank.beginNs);
    }
    lengths.emplace_back(length, i);
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths[lengths.size() / 2].second;
}

/// The lane of the rank at `place`, where the iteration ends for it as in `outcome`.
ComputingLane laneOf(const cost::StepRecord& step, const cost::StepOutcome& outcome,
                     std::size_t place) {
  const cost::RankStep& rank = step.ranks[place];
  return {rank.computing, rank.lastGradientNs, outcome.ranks[place].endNs};
}

/// Puts the begin of the axis to where the first rank began the iteration.
void beginAt(double originNs, cost::StepOutcome& outcome, ComputingLane& lane) {
  for (cost::BucketMoments& bucket : outcome.buckets) {
    for (double* moment : {&bucket.fullNs, &bucket.launchedNs, &bucket.beganNs, &bucket.endedNs}) {
      *moment -= originNs;
    }
  }
  for (cost::Stretch& stretch : lane.computing) {
    stretch.begin -= originNs;
    stretch.end -= originNs;
  }
  lane.lastGradientNs -= originNs;
  lane.endNs -= originNs;
}

std::size_t placeOf(const cost::StepRecord& step, int rank) {
  const auto at = std::find_if(step.ranks.begin(), step.ranks.end(),
                               [rank](const cost::RankStep& one) { return one.rank == rank; });
  return static_cast<std::size_t>(at - step.ranks.begin());
}

}  // namespace

const cost::RankForecast& WhatIf::spoken() const {
  return *cost::mostExposed(ranks);
}

std::size_t WhatIf::rows() const {
  constexpr std::size_t kMostRows = 3;
  return inFlight == 0 ? kMostRows : std::min(inFlight, kMostRows);
}

std::shared_ptr<const ForecastIteration> forecastIteration(const WhatIf& told, double originNs) {
  if (!told.known() || told.parts.isEmpty()) {
    return nullptr;
  }
  auto iteration = std::make_shared<ForecastIteration>();
  iteration->change = told.parts.join(QStringLiteral(", "));
  iteration->step = told.step;
  for (const cost::BucketMoments& bucket : told.wanted.buckets) {
    iteration->buckets.push_back(
        {originNs + bucket.launchedNs, originNs + bucket.beganNs, originNs + bucket.endedNs});
  }
  iteration->rows = told.rows();
  const cost::Estimate& step = told.spoken().stepNs;
  const double endNs = originNs + told.wantedLane.endNs;
  iteration->startNs = originNs;
  iteration->endNs = endNs;
  iteration->leastEndNs = endNs + step.low - step.value;
  iteration->mostEndNs = endNs + step.high - step.value;
  return iteration;
}

QString capText(std::uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / base::kMiB;
  const int decimals = mebibytes < 0.1 ? 3 : mebibytes < 10 ? 2 : mebibytes < 100 ? 1 : 0;
  return QString::number(mebibytes, 'f', decimals) + QStringLiteral(" MiB");
}

WhatIf whatIf(const WhatIfRun& run, const diagnosis::WantedChange& wanted,
              std::optional<std::uint32_t> step) {
  WhatIf told;
  const auto refused = [&told](const QString& why) {
    told.whyNot = why;
    return told;
  };
  if (!run.refused.isEmpty()) {
    return refused(run.refused);
  }
  if (!run.forecaster.ok()) {
    return refused(cannotTellSentence(run.forecaster.error()));
  }
  auto ready = diagnosis::readyChange(wanted, run.recorded.value(), run.run->data);
  if (!ready.ok()) {
    return refused(ready.error().where.empty() ? cannotTellSentence(ready.error())
                                               : QString::fromStdString(ready.error().message()));
  }
  const cost::StepChange& change = ready.value().change;
  const cost::Forecaster& made = run.forecaster.value();
  auto ranks = made.forecast(change);
  if (!ranks.ok()) {
    return refused(cannotTellSentence(ranks.error()));
  }
  told.ranks = std::move(ranks).value();
  told.ofCores = QString::fromStdString(cost::coresText(made.run().cores, told.ranks));
  told.own = run.ownCap() ? said("cap %1").arg(capText(*run.ownCap())) : said("a list of caps");
  for (const std::string& part : ready.value().parts) {
    told.parts << QString::fromStdString(part);
  }
  told.ofCap = told.parts.size() <= 1 && wanted.capListMb.empty() &&
               wanted.capMb.has_value() == !told.parts.isEmpty();
  told.ofHook = QString::fromStdString(ready.value().ofHook);
  told.otherLine = change.link || change.inFlight || change.hook;
  told.experiment = std::move(ready.value().experiment);
  told.line = made.lineOf(change).value();
  told.steps = made.steps().size();
  told.fit = made.fit();
  // The strips have a row for each that may travel at once; 0 is any number.
  told.inFlight = made.line().inFlight == 0 || told.line.inFlight == 0
                      ? 0
                      : std::max(made.line().inFlight, told.line.inFlight);
  // What this iteration would have been; the figures are over all that were read.
  const cost::StepRecord& record = made.steps()[shownStep(made.steps(), step)];
  const cost::StepRecord changed = cost::changedStep(record, change);
  told.step = record.step;
  told.plan = change.buckets.value_or(cost::planOf(record));
  told.measured = cost::measuredOutcome(record);
  const auto habits = made.habitsOf(change);
  told.wanted = cost::ReplayedSteps(habits, told.line, told.plan).next(record, changed);
  const std::size_t place = placeOf(record, told.spoken().rank);
  told.measuredLane = laneOf(record, told.measured, place);
  told.wantedLane = laneOf(changed, told.wanted, place);
  double originNs = record.ranks.front().beginNs;
  for (const cost::RankStep& rank : record.ranks) {
    originNs = std::min(originNs, rank.beginNs);
  }
  beginAt(originNs, told.measured, told.measuredLane);
  beginAt(originNs, told.wanted, told.wantedLane);
  return told;
}

QString forecastName(const WhatIf& told) {
  return said("Forecast, %1")
      .arg(told.parts.isEmpty() ? said("nothing changed") : told.parts.join(QStringLiteral(", ")));
}

QStringList outcomeTitles(const WhatIf& told) {
  if (!told.known()) {
    return {};
  }
  const int rank = told.spoken().rank;
  return {QString(), said("Buckets"), said("Exposed, rank %1").arg(rank),
          said("Iteration, rank %1").arg(rank)};
}

std::vector<QStringList> outcomeRows(const WhatIf& told) {
  if (!told.known()) {
    return {};
  }
  // The second row is the first as the model alone tells it: how far they are apart is the model's
  // error, which the third row has, too.
  const cost::RankForecast& rank = told.spoken();
  const QString ownBuckets = QString::number(told.measured.buckets.size());
  return {{said("Measured, %1").arg(told.own), ownBuckets, formatDuration(rank.measuredExposedNs),
           formatDuration(rank.measuredStepNs)},
          {said("The same, replayed"), ownBuckets, formatDuration(rank.replayedExposedNs),
           formatDuration(rank.replayedStepNs)},
          {forecastName(told), QString::number(told.plan.size()), shown(rank.exposedNs),
           shown(rank.stepNs)}};
}

QString outcomesAsHtml(const WhatIf& told) {
  const QStringList titles = outcomeTitles(told);
  QString html = QStringLiteral("<table cellpadding='2'><tr>");
  for (const QString& title : titles) {
    html += QStringLiteral("<td align='right' style='padding-left:14px'>%1</td>")
                .arg(title.toHtmlEscaped());
  }
  html += QStringLiteral("</tr>");
  for (const QStringList& row : outcomeRows(told)) {
    html += QStringLiteral("<tr>");
    for (qsizetype i = 0; i < row.size(); ++i) {
      html += QStringLiteral("<td align='%1' style='padding-left:14px'><b>%2</b></td>")
                  .arg(i == 0 ? QStringLiteral("left") : QStringLiteral("right"),
                       row[i].toHtmlEscaped());
    }
    html += QStringLiteral("</tr>");
  }
  return html + QStringLiteral("</table>");
}

QString verdict(const WhatIf& told) {
  return told.known() ? QString::fromStdString(cost::forecastText(told.spoken())) : QString();
}

QString assumptions(const WhatIf& told) {
  if (!told.known()) {
    return told.whyNot;
  }
  QString text =
      said(
          "Medians over %1 iterations; in brackets, where a run with this %2 is expected in "
          "nine cases of ten. Assumes that gradients become ready when they did. %3 Not in it: "
          "that communication slows computing. How far the second row is from the first says "
          "how far to trust the third.")
          .arg(told.steps)
          .arg(told.ofCap ? said("cap") : said("change"),
               QString::fromStdString(told.otherLine
                                          ? fmt::format("{} {}", cost::costText(told.fit),
                                                        cost::lineText(told.line))
                                          : cost::costText(told.fit)));
  for (const QString& more : {told.ofHook, told.ofCores}) {
    text += more.isEmpty() ? more : QLatin1Char(' ') + more;
  }
  return text;
}

QString spokenSummary(const WhatIf& told) {
  QStringList parts;
  const QStringList titles = outcomeTitles(told);
  for (const QStringList& row : outcomeRows(told)) {
    QStringList words{row.front()};
    for (qsizetype i = 1; i < row.size(); ++i) {
      words << titles[i].toLower() + QLatin1Char(' ') + row[i];
    }
    parts << words.join(QStringLiteral(", ")) + QLatin1Char('.');
  }
  parts << verdict(told) << assumptions(told);
  return parts.join(QLatin1Char(' '));
}

}  // namespace lockstep::ui
