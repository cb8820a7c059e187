#include "ui/views/whatif/WhatIfTable.h"

#include <utility>

#include "ui/model/Format.h"
#include "ui/table/ColumnRows.h"

namespace lockstep::ui {
namespace {

class WhatIfRows : public ColumnRows {
 public:
  explicit WhatIfRows(std::shared_ptr<const WhatIf> told) : told_(std::move(told)) {
    const auto add = [this](const QString& title, auto figure, auto write) {
      figures(
          {title, {}, true, true, Qt::AlignRight, Qt::AlignHCenter},
          [figure](std::size_t row) { return static_cast<double>(figure(row)); }, write);
    };
    const auto time = [&](const QString& title, double cost::BucketMoments::*moment) {
      add(
          title, [this, moment](std::size_t row) { return told_->wanted.buckets[row].*moment; },
          [](double ns) { return formatTime(ns, 1e4, 1e6); });
    };
    add(
        tr("Bucket"), [](std::size_t row) { return row; },
        [](double bucket) { return QStringLiteral("b%1").arg(bucket); });
    add(
        tr("Parameters"), [this](std::size_t row) { return told_->plan[row].parameters.size(); },
        inCount);
    add(
        tr("Bytes"), [this](std::size_t row) { return told_->plan[row].bytes; }, formatBytes);
    time(tr("Full"), &cost::BucketMoments::fullNs);
    time(tr("Launched"), &cost::BucketMoments::launchedNs);
    time(tr("Begun"), &cost::BucketMoments::beganNs);
    time(tr("Ended"), &cost::BucketMoments::endedNs);
  }
  [[nodiscard]] std::size_t size() const override {
    return told_ == nullptr || !told_->known() ? 0 : told_->plan.size();
  }
  [[nodiscard]] QString tip(std::size_t, std::size_t) const override { return {}; }

 private:
  const std::shared_ptr<const WhatIf> told_;
};

}  // namespace

std::shared_ptr<const TableRows> whatIfRows(std::shared_ptr<const WhatIf> told) {
  return std::make_shared<WhatIfRows>(std::move(told));
}

}  // namespace lockstep::ui
