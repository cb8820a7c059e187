#include "ui/model/Format.h"

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

// Three significant digits, never an exponent.
QString threeDigits(double value) {
  const double magnitude = std::abs(value);
  const int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return QString::number(value, 'f', decimals);
}

template <std::size_t N>
QString inUnits(double value, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    // 999.6 of a unit would round to 1000 of it: take the next one up.
    if (std::abs(value) >= unit.size * 0.9995) {
      const QString number =
          unit.size == 1 ? QString::number(value, 'f', 0) : threeDigits(value / unit.size);
      return number + QLatin1Char(' ') + QString::fromUtf8(unit.name);
    }
  }
  return QStringLiteral("0 ") + QString::fromUtf8(units.back().name);
}

}  // namespace

QString formatDuration(double ns) {
  return inUnits(ns, kTimeUnits);
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
  const double digits = -std::floor(std::log10(std::max(stepNs, 1e-3) / unit->size) + 1e-9);
  QString number =
      QString::number(ns / unit->size, 'f', std::clamp(static_cast<int>(digits), 0, 9));
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

QString formatCount(std::uint64_t count) {
  QString text = QString::number(count);
  for (qsizetype i = text.size() - 3; i > 0; i -= 3) {
    text.insert(i, QLatin1Char(','));
  }
  return text;
}

}  // namespace lockstep::ui
