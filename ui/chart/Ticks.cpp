#include "ui/chart/Ticks.h"

#include <algorithm>
#include <cmath>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kLongest = 1e7;  // more digits do not fit beside an axis

int exponentOf(double value) {
  return static_cast<int>(std::floor(std::log10(value)));
}

}  // namespace

QString tickText(double value, double step) {
  if (std::abs(value) >= kLongest) {
    const int digits = 1 + exponentOf(std::abs(value)) - exponentOf(step);
    return QString::number(value, 'g', std::max(1, digits));
  }
  const QString digits = QString::number(std::abs(value), 'f', base::decimalsOf(step));
  const QString whole = digits.section(QLatin1Char('.'), 0, 0);
  return (value < 0 ? QStringLiteral("-") : QString()) + formatCount(whole.toULongLong()) +
         digits.mid(whole.size());
}

}  // namespace lockstep::ui
