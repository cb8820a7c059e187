#include <vector>

#include "engine/cost/Sample.h"
#include "ui/model/Format.h"
#include "ui/views/whatif/ForecastHistory.h"
#include "ui/views/whatif/WhatIfWords.h"

namespace lockstep::ui {
QString historyWords(const ForecastHistory& history) {
  std::vector<double> errors;
  std::size_t held = 0;
  std::size_t exposedHeld = 0;
  for (const PastForecast& forecast : history.forecasts()) {
    if (forecast.measured) {
      errors.push_back(forecast.errorPercent());
      held += forecast.stepHeld() ? 1 : 0;
      exposedHeld += forecast.exposedHeld() ? 1 : 0;
    }
  }
  QString words =
      errors.empty()
          ? said("No forecast was tried yet: Run this tries one, and keeps what came of it.")
          : said(
                "Forecasts that were tried: %1. The step was within its interval in %2 of them, "
                "the "
                "exposed time in %3; the median error of the step is %4.")
                .arg(formatCount(errors.size()), formatCount(held), formatCount(exposedHeld),
                     formatPercent(*cost::median(errors)));
  if (history.damaged() > 0) {
    words += said(" %1 of %2 cannot be read and are left out.")
                 .arg(formatCounted(history.damaged(), "line"), history.file());
  }
  return words;
}

QString besideWords(const PastForecast& forecast) {
  if (!forecast.measured) {
    return {};
  }
  const QString whose = forecast.rank == PastForecast::kMeanOfRanks
                            ? said("in the mean of its ranks")
                            : said("on %1").arg(formatRanks({forecast.rank}));
  return said(
             "The open run tried a forecast, %1: %2 a step of %3 was forecast and %4 measured, %5 "
             "the interval; of exposed time %6 and %7.")
      .arg(forecast.change, whose, shown(forecast.stepNs),
           formatDuration(forecast.measured->stepNs),
           forecast.stepHeld() ? said("within") : said("beyond"), shown(forecast.exposedNs),
           formatDuration(forecast.measured->exposedNs));
}

}  // namespace lockstep::ui
