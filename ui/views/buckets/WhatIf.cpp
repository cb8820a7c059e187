#include "ui/views/buckets/WhatIf.h"

#include <QCoreApplication>
#include <algorithm>
#include <utility>

#include "engine/analysis/WhatIfCap.h"
#include "engine/analysis/WhatIfLink.h"
#include "engine/base/NumberText.h"
#include "engine/cost/ForecastText.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("WhatIf", text);
}

QString cannotTell(const base::Error& error) {
  QString text = QString::fromStdString(cost::cannotTellText(error));
  text[0] = text[0].toUpper();
  return text + QLatin1Char('.');
}

QString shown(const cost::Estimate& estimate) {
  return QString::fromStdString(cost::estimateText(estimate));
}

}  // namespace

QString capText(std::uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / base::kMiB;
  const int decimals = mebibytes < 0.1 ? 3 : mebibytes < 10 ? 2 : mebibytes < 100 ? 1 : 0;
  return QString::number(mebibytes, 'f', decimals) + QStringLiteral(" MiB");
}

std::optional<std::uint64_t> ownCap(const BucketStory& story) {
  // A list of caps is no one number that a slider could change.
  if (!story.config || !story.config->bucketCapMbList.empty()) {
    return std::nullopt;
  }
  return analysis::capsOf(*story.config).capBytes;
}

WhatIf whatIf(const BucketStory& story,
              const std::optional<base::Result<cost::Forecaster>>& forecaster,
              std::uint64_t capBytes, const std::optional<experiment::LinkConfig>& link,
              const QString& linkText) {
  WhatIf told;
  told.capBytes = capBytes;
  told.link = linkText;
  const auto own = ownCap(story);
  if (!own) {
    told.whyNot = story.simulated
                      ? tr("This run is simulated: ask the run that it was made from.")
                  : story.observed
                      ? tr("This is a job of PyTorch: there is no experiment that says its caps and "
                           "its link, and so no forecast with others.")
                  : !story.config
                      ? tr("The experiment of this run cannot be read, so its cap is not known.")
                      : tr("This run gives a list of caps: there is no one cap to change.");
    return told;
  }
  told.ownCapBytes = *own;
  // In this order: what can never be known comes before what is not known yet.
  auto plan = analysis::planWithCap(story.parameters, story.layout, analysis::capsOf(*story.config),
                                    capBytes);
  if (!plan.ok() || !story.recorded.ok()) {
    told.whyNot = cannotTell(plan.ok() ? story.recorded.error() : plan.error());
    return told;
  }
  if (!forecaster) {
    told.whyNot = tr("Other iterations of this run are being read.");
    return told;
  }
  if (!forecaster->ok()) {
    told.whyNot = cannotTell(forecaster->error());
    return told;
  }
  const cost::Forecaster& made = forecaster->value();
  cost::StepChange change;
  change.buckets = plan.value();
  if (link && story.settings != nullptr) {
    if (const auto status = analysis::changeLink(*story.settings, *link, change); !status.ok()) {
      told.whyNot = cannotTell(status.error());
      return told;
    }
  }
  auto ranks = made.forecast(change);
  if (!ranks.ok()) {
    told.whyNot = cannotTell(ranks.error());
    return told;
  }
  told.line = made.lineOf(change).value();
  const cost::StepRecord& record = story.recorded.value().record;
  told.steps = made.steps().size();
  // The strips have a row for each that may travel at once; 0 is any number.
  told.inFlight = made.line().inFlight == 0 || told.line.inFlight == 0
                      ? 0
                      : std::max(made.line().inFlight, told.line.inFlight);
  told.fit = made.fit();
  told.measured = cost::measuredOutcome(record);
  // What this iteration would have been; the figures are over all that were read.
  told.wanted = cost::replay(record, made.habits(), told.line, plan.value());
  told.plan = std::move(plan).value();
  for (const cost::RankStep& rank : record.ranks) {
    told.lastGradientNs = std::max(told.lastGradientNs, rank.lastGradientNs);
  }
  told.ranks = std::move(ranks).value();
  return told;
}

QStringList outcomeTitles(const WhatIf& told) {
  if (!told.known()) {
    return {};
  }
  // Of the rank with the most exposed time, for that is what another cap could shorten.
  const int rank = cost::mostExposed(told.ranks)->rank;
  return {QString(), tr("Buckets"), tr("Exposed, rank %1").arg(rank),
          tr("Iteration, rank %1").arg(rank)};
}

std::vector<QStringList> outcomeRows(const WhatIf& told) {
  if (!told.known()) {
    return {};
  }
  // The second row is the first as the model alone tells it: how far they are apart is the model's
  // error, which the third row has, too.
  const cost::RankForecast& rank = *cost::mostExposed(told.ranks);
  const QString ownBuckets = QString::number(told.measured.buckets.size());
  return {{tr("Measured, cap %1").arg(capText(told.ownCapBytes)), ownBuckets,
           formatDuration(rank.measuredExposedNs), formatDuration(rank.measuredStepNs)},
          {tr("The same, replayed"), ownBuckets, formatDuration(rank.replayedExposedNs),
           formatDuration(rank.replayedStepNs)},
          {tr("Forecast, cap %1").arg(capText(told.capBytes)) +
               (told.link.isEmpty() ? QString() : QStringLiteral(", ") + told.link),
           QString::number(told.plan.size()), shown(rank.exposedNs), shown(rank.stepNs)}};
}

QString outcomesAsHtml(const WhatIf& told) {
  const QStringList titles = outcomeTitles(told);
  QString html = QStringLiteral("<table cellpadding='2'><tr>");
  for (qsizetype i = 0; i < titles.size(); ++i) {
    html += QStringLiteral("<td align='right' style='padding-left:14px'>%1</td>")
                .arg(titles[i].toHtmlEscaped());
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
  return told.known() ? QString::fromStdString(cost::forecastText(*cost::mostExposed(told.ranks)))
                      : QString();
}

QString assumptions(const WhatIf& told) {
  if (!told.known()) {
    return told.whyNot;
  }
  return tr("Medians over %1 iterations; in brackets, where a run with this cap is expected in "
            "nine cases of ten. Assumes that gradients become ready when they did. %2 Not in it: "
            "that communication slows computing. How far the second row is from the first says "
            "how far to trust the third.")
      .arg(told.steps)
      .arg(QString::fromStdString(
          cost::costText(told.fit) +
          (told.link.isEmpty() ? "" : " " + cost::lineText(told.line))));
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
