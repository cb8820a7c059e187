#include "ui/panels/findings/FindingWords.h"

#include <QCoreApplication>
#include <map>
#include <string_view>

#include "engine/base/NumberText.h"
#include "ui/model/Format.h"
#include "ui/model/StartingLarge.h"
#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

using diagnosis::Diagnosis;
using diagnosis::Finding;
using diagnosis::Weight;

QString tr(const char* text) {
  return QCoreApplication::translate("Findings", text);
}

QString msOf(double value) {
  return QString::fromStdString(base::msText(value));
}

}  // namespace

FindingTone toneOf(const Finding& finding) {
  switch (finding.weight) {
    case Weight::kWrong:
      return FindingTone::kWrong;
    case Weight::kCost:
      return FindingTone::kCost;
    case Weight::kNote:
      break;
  }
  return FindingTone::kNote;
}

QColor inkOf(FindingTone tone) {
  const Palette& colours = currentPalette();
  switch (tone) {
    case FindingTone::kWrong:
      return colours.error;
    case FindingTone::kCost:
      return colours.warning;
    case FindingTone::kNote:
      return currentAccent();
    case FindingTone::kGood:
      return colours.good;
    case FindingTone::kUnknown:
      break;
  }
  return colours.textMuted;
}

FindingsHeadline headlineOf(const Diagnosis* found) {
  if (found == nullptr) {
    return {FindingTone::kUnknown, {tr("Looking at the run…")}, 0};
  }
  FindingsHeadline headline;
  if (found->findings.empty()) {
    headline.tone = !found->canTell      ? FindingTone::kUnknown
                    : found->muchExposed ? FindingTone::kNote
                                         : FindingTone::kGood;
    headline.texts = {QString::fromStdString(found->nothing),
                      !found->canTell      ? tr("This run cannot tell")
                      : found->muchExposed ? tr("No cause stands out")
                                           : tr("Nothing stands out")};
  } else {
    const Finding& first = found->findings.front();
    headline.tone = toneOf(first);
    headline.more = found->findings.size() - 1;
    headline.texts = {startingLarge(diagnosis::headlineOf(first))};
    if (first.savingMs) {
      headline.texts << tr("%1: %2").arg(titleOf(first), savingOf(first)) << titleOf(first);
    }
  }
  if (found->soFar) {
    for (QString& text : headline.texts) {
      text = tr("So far: %1").arg(text);
    }
  }
  return headline;
}

QString summaryOf(const Diagnosis& found) {
  const QString count = found.findings.empty()
                            ? tr("No finding")
                            : formatCounted(found.findings.size(), "finding");
  const QString steps = formatCounted(found.measuredSteps, "measured step");
  QString text = found.measuredSteps == 0
                     ? tr("%1; no step is measured").arg(count)
                     : tr("%1 in %2 of %3 ms").arg(count, steps, msOf(found.stepMs));
  if (found.soFar) {
    text += tr(" so far: the run goes on");
  }
  return text;
}

QString titleOf(const Finding& finding) {
  return startingLarge(finding.title);
}

QString termOf(const diagnosis::Finding& finding) {
  static const std::map<std::string_view, const char*> kTerms{
      {"buckets", "bucket cap"},      {"calls_differ", "call number"},
      {"few_cores", "no core"},       {"hook_costs", "hook"},
      {"late_rank", "late rank"},     {"not_finite", "diverged"},
      {"replicas_differ", "replica"}, {"search_unused", "unused parameter"},
      {"slow_rank_link", "slow link"}, {"transfer", "slow link"}};
  const auto at = kTerms.find(finding.rule);
  return QString::fromLatin1(at == kTerms.end() ? "finding" : at->second);
}

QString savingOf(const Finding& finding) {
  if (!finding.savingMs) {
    return {};
  }
  const QString mean = msOf(finding.savingMs->mean);
  return finding.atMost ? tr("at most %1 ms a step").arg(mean) : tr("%1 ms a step").arg(mean);
}

QString intervalOf(const Finding& finding, double stepMs) {
  if (!finding.savingMs) {
    return {};
  }
  const QString within = tr("%1 to %2 ms").arg(msOf(finding.savingMs->low), msOf(finding.savingMs->high));
  return stepMs <= 0
             ? within
             : tr("%1, %2 of a step")
                   .arg(within, formatPercent(100 * finding.savingMs->mean / stepMs, 0));
}

QString placeOf(const diagnosis::Place& place) {
  QStringList parts;
  if (place.rank) {
    parts << tr("rank %1").arg(*place.rank);
  }
  if (place.step) {
    parts << tr("step %1").arg(*place.step);
  }
  if (place.bucket) {
    parts << tr("bucket %1").arg(*place.bucket);
  }
  if (!place.parameterName.empty()) {
    parts << QString::fromStdString(place.parameterName);
  }
  if (!place.phase.empty()) {
    parts << QString::fromStdString(place.phase);
  }
  return parts.join(QStringLiteral(", "));
}

QString settingOf(const diagnosis::Setting& setting) {
  return QString::fromStdString(setting.key + " = " + setting.value);
}

}  // namespace lockstep::ui
