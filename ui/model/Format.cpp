#include "ui/model/Format.h"

#include <QStringList>
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/NumberText.h"

namespace lockstep::ui {
namespace {

struct Unit {
  double size;
  const char* name;
};

constexpr std::array<Unit, 4> kTimeUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};

}  // namespace

QString formatDuration(double ns) {
  return QString::fromStdString(base::durationText(ns));
}

QString formatMs(double ms) {
  return formatDuration(ms * 1e6);
}

QString formatTime(double ns, double stepNs, double largestNs) {
  // The unit follows the size of the time, the digits follow the distance to the neighbours.
  const double magnitude = std::max(largestNs > 0 ? largestNs : std::abs(ns), stepNs);
  const Unit* unit = &kTimeUnits.back();
  for (const Unit& candidate : kTimeUnits) {
    if (magnitude >= candidate.size) {
      unit = &candidate;
      break;
    }
  }
  // As many decimals as the step needs. The 1e-9 is for round steps, whose logarithm may come out a
  // little below its whole number and would cost a digit more.
  const double digits = -std::floor(std::log10(std::max(stepNs, 1e-3) / unit->size) + 1e-9);
  QString number =
      QString::number(ns / unit->size, 'f', std::clamp(static_cast<int>(digits), 0, 9));
  // "-0.0 ms" of a time that rounds to zero.
  if (number.startsWith(QLatin1Char('-')) && number.toDouble() == 0) {
    number.remove(0, 1);
  }
  return number + QLatin1Char(' ') + QString::fromUtf8(unit->name);
}

QString formatBytes(double bytes) {
  return QString::fromStdString(base::bytesText(bytes));
}

QString formatRate(double bytes, double ns) {
  return ns > 0 ? formatBytes(bytes / ns * 1e9) + QStringLiteral("/s") : QString();
}

QString formatPercent(double percent, int decimals) {
  return QString::fromStdString(base::percentText(percent, decimals));
}

QString formatLoss(double loss) {
  if (std::isnan(loss)) {
    return QStringLiteral("NaN");
  }
  if (std::isinf(loss)) {
    return QStringLiteral("infinite");
  }
  const double size = std::abs(loss);
  if (size < 0.001) {
    return QString::number(loss, 'g', 2);
  }
  const int decimals = size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
  return QString::number(loss, 'f', decimals);
}

QString formatCount(std::uint64_t count) {
  return QString::fromStdString(base::countText(count));
}

QString formatCounted(std::uint64_t count, const char* one, const char* many) {
  return QString::fromStdString(base::countedText(count, one, many));
}

QString formatRanks(const std::vector<int>& ranks) {
  return QString::fromStdString(base::ranksText(ranks));
}

QString formatOrdinal(std::size_t place) {
  // 11th, 12th and 13th, also 111th.
  const std::size_t tens = place % 100;
  const char* ending = tens >= 11 && tens <= 13 ? "th"
                       : place % 10 == 1        ? "st"
                       : place % 10 == 2        ? "nd"
                       : place % 10 == 3        ? "rd"
                                                : "th";
  return QString::number(place) + QLatin1String(ending);
}

QString formatShape(const std::vector<std::int64_t>& shape) {
  QStringList sizes;
  for (const std::int64_t size : shape) {
    sizes << QString::number(size);
  }
  return sizes.isEmpty() ? QStringLiteral("scalar") : sizes.join(QStringLiteral(" × "));
}

}  // namespace lockstep::ui
