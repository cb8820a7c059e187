#include "ui/views/compare/MetricText.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

#include "engine/base/NumberText.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

const QString kUnknown = QStringLiteral("\u2013");

QString magnitudeText(analysis::Metric metric, double value) {
  const std::string& unit = analysis::facts(metric).unit;
  if (unit == "B") {
    return formatBytes(value);
  }
  if (unit == "ms" || value == 0) {
    return QString::fromStdString(base::msText(value));
  }
  return QString::number(value, 'f', unit.empty() ? 4 : value < 999.5 ? 2 : 0);
}

// A minus sign, not a hyphen: it is as wide as a plus. None of what is written as 0.
QString signedText(double value, const QString& magnitude, const QString& plus) {
  static const QRegularExpression notZero(QStringLiteral("[1-9]"));
  if (!magnitude.contains(notZero)) {
    return magnitude;
  }
  return (value < 0 ? QStringLiteral("\u2212") : value > 0 ? plus : QString()) + magnitude;
}

/// The verdict; of a difference of two runs, which says nothing of what was changed, its side.
analysis::Verdict shownVerdict(analysis::Metric metric, const analysis::Delta& delta) {
  return delta.verdict == analysis::Verdict::kTooFewRuns
             ? analysis::sideOf(delta.difference.value_or(0), analysis::facts(metric).better)
             : delta.verdict;
}

bool isTold(analysis::Verdict verdict) {
  return verdict == analysis::Verdict::kBetter || verdict == analysis::Verdict::kWorse;
}

}  // namespace

QString nameOf(analysis::Metric metric) {
  const analysis::MetricFacts& about = analysis::facts(metric);
  const QString name = QString::fromStdString(about.name);
  // Bytes carry their unit with each figure.
  return about.unit.empty() || about.unit == "B"
             ? name
             : QStringLiteral("%1 [%2]").arg(name, QString::fromStdString(about.unit));
}

QString valueText(analysis::Metric metric, const std::optional<double>& value) {
  return value ? signedText(*value, magnitudeText(metric, std::abs(*value)), {}) : kUnknown;
}

QString differenceText(analysis::Metric metric, const std::optional<double>& difference) {
  return difference ? signedText(*difference, magnitudeText(metric, std::abs(*difference)),
                                 QStringLiteral("+"))
                    : kUnknown;
}

QString changeText(const std::optional<double>& percent) {
  if (!percent) {
    return kUnknown;
  }
  if (*percent >= 900) {
    const double factor = 1 + *percent / 100;
    return QStringLiteral("\u00d7%1").arg(factor, 0, 'f', factor < 99.95 ? 1 : 0);
  }
  const double magnitude = std::abs(*percent);
  return signedText(*percent, formatPercent(magnitude, magnitude < 99.95 ? 1 : 0),
                    QStringLiteral("+"));
}

QString intervalText(analysis::Metric metric, const analysis::Delta& delta) {
  if (!delta.low || !delta.high) {
    return kUnknown;
  }
  const QString low = differenceText(metric, delta.low);
  const QString high = differenceText(metric, delta.high);
  return low == high ? low : QStringLiteral("%1 … %2").arg(low, high);
}

QString verdictText(analysis::Metric metric, const analysis::Delta& delta) {
  const analysis::Verdict side = shownVerdict(metric, delta);
  const QString text = QString::fromUtf8(analysis::name(side));
  if (!isTold(side)) {
    return text;
  }
  const QString arrow =
      delta.difference.value_or(0) > 0 ? QStringLiteral("\u25b2 ") : QStringLiteral("\u25bc ");
  return arrow + text + (side == delta.verdict ? QString() : QStringLiteral(" so far"));
}

QColor verdictColour(analysis::Metric metric, const analysis::Delta& delta,
                     const Palette& palette) {
  const analysis::Verdict side = shownVerdict(metric, delta);
  return side == analysis::Verdict::kBetter  ? palette.good
         : side == analysis::Verdict::kWorse ? palette.error
                                             : palette.textMuted;
}

QString fewRunsNote(const analysis::Comparison& comparison, std::size_t other) {
  const bool any = std::ranges::any_of(comparison.metrics, [&](const analysis::MetricRow& row) {
    return row.deltas[other - 1].verdict == analysis::Verdict::kTooFewRuns;
  });
  return any ? QStringLiteral(
                   "It takes two runs or more of each to judge what was changed: runs of one "
                   "experiment may be as far apart.")
             : QString();
}

QString labelOf(const analysis::DifferingKey& key) {
  const QString name = QString::fromStdString(key.key);
  return key.unit.empty() ? name
                          : QStringLiteral("%1 [%2]").arg(name, QString::fromStdString(key.unit));
}

QString keyValueText(const std::optional<std::string>& value) {
  if (!value) {
    return kUnknown;
  }
  const QString text = QString::fromStdString(*value);
  // The quotes are TOML's, no part of the text.
  const bool quoted = text.size() >= 2 && text.startsWith(u'"') && text.endsWith(u'"');
  return !quoted            ? text
         : text.size() == 2 ? QStringLiteral("(empty)")
                            : text.mid(1, text.size() - 2);
}

QString deltaMsText(double ms) {
  return differenceText(analysis::Metric::kStep, ms) + QStringLiteral(" ms");
}

}  // namespace lockstep::ui
