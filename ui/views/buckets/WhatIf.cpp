#include "ui/views/buckets/WhatIf.h"

#include <QCoreApplication>
#include <cmath>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

QString tr(const char* text) {
  return QCoreApplication::translate("WhatIf", text);
}

QString sentence(const base::Error& error) {
  QString text = QString::fromStdString(error.message());
  if (!text.isEmpty()) {
    text[0] = text[0].toUpper();
  }
  return text + QLatin1Char('.');
}

QStringList rowOf(const WhatIf& told, const QString& title, const analysis::CapOutcome& outcome) {
  const double behind =
      static_cast<double>(static_cast<std::int64_t>(outcome.endTicks - outcome.lastGradientTicks));
  return {title,
          QString::number(outcome.buckets.size()),
          formatDuration(told.ns(outcome.inFlightTicks)),
          formatDuration(told.ns(outcome.exposedTicks)),
          outcome.overlapPercent ? QString::number(*outcome.overlapPercent, 'f', 0) + " %"
                                 : tr("none in flight"),
          formatDuration(told.ns(behind))};
}

}  // namespace

QString capText(std::uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / kMiB;
  const int decimals = mebibytes < 0.1 ? 3 : mebibytes < 10 ? 2 : mebibytes < 100 ? 1 : 0;
  return QString::number(mebibytes, 'f', decimals) + QStringLiteral(" MB");
}

std::optional<analysis::MeasuredStep> measuredStep(const BucketStory& story) {
  if (!story.config) {
    return std::nullopt;
  }
  analysis::MeasuredStep step;
  step.parameters = story.parameters;
  step.layout = story.layout;
  step.caps = capsOf(*story.config);
  step.orders = story.orders;
  step.lives = story.lives;
  return step;
}

std::optional<std::uint64_t> ownCap(const BucketStory& story) {
  if (!story.config || !story.config->bucketCapMbList.empty()) {
    return std::nullopt;
  }
  return capsOf(*story.config).capBytes;
}

WhatIf whatIf(const BucketStory& story, const std::vector<analysis::CostSample>& samples,
              std::uint64_t capBytes) {
  WhatIf told;
  told.step = story.step;
  told.originTicks = story.originTicks;
  told.nsPerTick = story.nsPerTick;
  told.capBytes = capBytes;
  const auto step = measuredStep(story);
  const auto own = ownCap(story);
  if (!step || !own) {
    told.whyNot = !step ? tr("The experiment of this run cannot be read, so its cap is not known.")
                        : tr("This run gives a list of caps: there is no one cap to change.");
    return told;
  }
  told.ownCapBytes = *own;
  const auto measured = analysis::measuredOutcome(*step);
  if (!measured.ok()) {
    told.whyNot = sentence(measured.error());
    return told;
  }
  const auto cost = analysis::fitCost(samples);
  if (!cost) {
    told.whyNot =
        tr("The buckets of this run are too alike in size to tell latency from bandwidth: a cap "
           "that makes unlike buckets would show both.");
    return told;
  }
  const auto same = analysis::forecast(*step, *cost, *own);
  const auto wanted = analysis::forecast(*step, *cost, capBytes);
  if (!same.ok() || !wanted.ok()) {
    told.whyNot = sentence(same.ok() ? wanted.error() : same.error());
    return told;
  }
  told.cost = *cost;
  told.habits = analysis::launchHabits(*step);
  told.measured = measured.value();
  told.own = same.value();
  told.wanted = wanted.value();
  return told;
}

QStringList outcomeTitles() {
  return {QString(),     tr("Buckets"), tr("In flight"),
          tr("Exposed"), tr("Overlap"), tr("Last gradient to last bucket")};
}

std::vector<QStringList> outcomeRows(const WhatIf& told) {
  if (!told.known()) {
    return {};
  }
  return {rowOf(told, tr("Measured, cap %1").arg(capText(told.ownCapBytes)), told.measured),
          rowOf(told, tr("Forecast, cap %1").arg(capText(told.ownCapBytes)), told.own),
          rowOf(told, tr("Forecast, cap %1").arg(capText(told.capBytes)), told.wanted)};
}

QString outcomesAsHtml(const WhatIf& told) {
  const QStringList titles = outcomeTitles();
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

QString assumptions(const WhatIf& told) {
  if (!told.known()) {
    return told.whyNot;
  }
  constexpr double kMegabyte = 1e6;
  return tr("Assumes that gradients become ready when they did in iteration %1, and that a bucket "
            "takes %2 and %3 a MB once all ranks have come: fitted to %4 measured ones, of which "
            "half are off by more than %5 %. At most %6 in flight at once, as measured. Not in it: "
            "that communication slows computing, copies, and hooks whose time does not grow with "
            "the bytes. How far the second row is from the first says how far to trust the third.")
      .arg(told.step)
      .arg(formatDuration(told.ns(told.cost.latencyTicks)),
           formatDuration(told.ns(told.cost.ticksPerByte * kMegabyte)),
           formatCount(told.cost.samples))
      .arg(QString::number(told.cost.errorPercent, 'f', 0))
      .arg(told.habits.atOnce);
}

QString spokenSummary(const WhatIf& told) {
  QStringList parts;
  const QStringList titles = outcomeTitles();
  for (const QStringList& row : outcomeRows(told)) {
    QStringList words{row.front()};
    for (qsizetype i = 1; i < row.size(); ++i) {
      words << titles[i].toLower() + QLatin1Char(' ') + row[i];
    }
    parts << words.join(QStringLiteral(", ")) + QLatin1Char('.');
  }
  parts << assumptions(told);
  return parts.join(QLatin1Char(' '));
}

}  // namespace lockstep::ui
