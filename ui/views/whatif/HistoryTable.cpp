#include "ui/views/whatif/HistoryTable.h"

#include <QFileInfo>
#include <algorithm>
#include <optional>
#include <utility>

#include "ui/model/Format.h"
#include "ui/table/ColumnRows.h"
#include "ui/views/whatif/WhatIfWords.h"

namespace lockstep::ui {
namespace {

class HistoryRows : public ColumnRows {
 public:
  explicit HistoryRows(std::vector<PastForecast> forecasts)
      : ColumnRows(QStringLiteral("–")), forecasts_(std::move(forecasts)) {
    std::reverse(forecasts_.begin(), forecasts_.end());
    words({tr("Run"), tr("The run that tried the forecast")},
          [this](std::size_t row) { return QFileInfo(of(row).run).completeBaseName(); });
    words({tr("Change")}, [this](std::size_t row) { return of(row).change; });
    words({tr("Of"), tr("Whose figures they are")}, [this](std::size_t row) {
      return of(row).rank == PastForecast::kMeanOfRanks ? tr("mean of ranks")
                                                        : formatRanks({of(row).rank});
    });
    pair(tr("Step"), &PastForecast::stepNs, &PastForecast::Measured::stepNs);
    figures(
        tr("Off"), tr("The forecast step, against the measured one"),
        [this](std::size_t row) {
          return of(row).measured ? std::optional(of(row).errorPercent()) : std::nullopt;
        },
        [](double percent) { return formatPercent(percent); });
    pair(tr("Exposed"), &PastForecast::exposedNs, &PastForecast::Measured::exposedNs);
    words({tr("Held"), tr("Whether the step was within its interval")}, [this](std::size_t row) {
      const PastForecast& forecast = of(row);
      return forecast.open()       ? tr("goes on")
             : !forecast.measured  ? forecast.ended
             : forecast.stepHeld() ? tr("yes")
                                   : tr("no");
    });
  }
  [[nodiscard]] std::size_t size() const override { return forecasts_.size(); }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override {
    return column == 0 ? of(row).run : QString();
  }

 private:
  void pair(const QString& title, cost::Estimate PastForecast::*forecast,
            double PastForecast::Measured::*measured) {
    words(
        {tr("%1, forecast").arg(title), {}, true},
        [this, forecast](std::size_t row) { return shown(of(row).*forecast); },
        [this, forecast](std::size_t row) { return std::optional((of(row).*forecast).value); });
    figures(
        tr("%1, measured").arg(title), {},
        [this, measured](std::size_t row) {
          return of(row).measured ? std::optional((*of(row).measured).*measured) : std::nullopt;
        },
        [](double ns) { return formatDuration(ns); });
  }
  [[nodiscard]] const PastForecast& of(std::size_t row) const { return forecasts_[row]; }

  std::vector<PastForecast> forecasts_;
};

}  // namespace

std::shared_ptr<const TableRows> historyRows(const std::vector<PastForecast>& forecasts) {
  return std::make_shared<HistoryRows>(forecasts);
}

}  // namespace lockstep::ui
