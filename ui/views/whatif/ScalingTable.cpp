#include "ui/views/whatif/ScalingTable.h"

#include <optional>
#include <utility>

#include "engine/simulate/ScalingText.h"
#include "ui/table/ColumnRows.h"
#include "ui/views/whatif/WhatIfWords.h"

namespace lockstep::ui {
namespace {

class ScalingRows : public ColumnRows {
 public:
  explicit ScalingRows(std::shared_ptr<const ScalingCurve> curve) : curve_(std::move(curve)) {
    figures(
        tr("Ranks"), {}, [this](std::size_t row) { return static_cast<double>(of(row).ranks); },
        inCount);
    const auto estimate = [this](const QString& title, auto write, auto member) {
      words(
          {title, tr("In brackets, where nine of ten runs are expected"), true},
          [this, write, member](std::size_t row) { return write(of(row).*member); },
          [this, member](std::size_t row) { return std::optional((of(row).*member).value); });
    };
    const auto inTime = [](const cost::Estimate& of) { return shown(of); };
    estimate(tr("Step"), inTime, &simulate::RanksForecast::stepNs);
    estimate(tr("Exposed"), inTime, &simulate::RanksForecast::exposedNs);
    estimate(
        tr("Efficiency"),
        [](const cost::Estimate& of) { return shown(simulate::efficiencyText(of)); },
        &simulate::RanksForecast::efficiency);
    words({tr("Bound by"), tr("What would make the step shorter by most")},
          [this](std::size_t row) { return shown(simulate::name(of(row).bound)); });
    words({tr("Allreduce"), tr("The algorithm that carries most of the bytes")},
          [this](std::size_t row) { return shown(simulate::name(of(row).by)); });
    words({QString(), tr("More ranks than were recorded")}, [this](std::size_t row) {
      return of(row).extrapolated ? tr("extrapolated") : tr("recorded");
    });
  }
  [[nodiscard]] std::size_t size() const override {
    return curve_ == nullptr ? 0 : curve_->rows.size();
  }
  [[nodiscard]] QString tip(std::size_t, std::size_t) const override { return {}; }

 private:
  [[nodiscard]] const simulate::RanksForecast& of(std::size_t row) const {
    return curve_->rows[row];
  }

  const std::shared_ptr<const ScalingCurve> curve_;
};

}  // namespace

std::shared_ptr<const TableRows> scalingRows(std::shared_ptr<const ScalingCurve> curve) {
  return std::make_shared<ScalingRows>(std::move(curve));
}

}  // namespace lockstep::ui
