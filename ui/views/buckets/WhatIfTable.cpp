#include "ui/views/buckets/WhatIfTable.h"

#include <utility>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

// Hundredths of a ms are as much as a forecast can tell.
constexpr double kTimeStepNs = 1e4;

class WhatIfRows : public TableRows {
 public:
  explicit WhatIfRows(std::shared_ptr<const WhatIf> told)
      : TableRows({column(tr("Bucket")), column(tr("Parameters")), column(tr("Bytes")),
                   column(tr("Full")), column(tr("Launched")), column(tr("Begun")),
                   column(tr("Ended"))}),
        told_(std::move(told)) {}

  [[nodiscard]] std::size_t size() const override {
    return told_ == nullptr ? 0 : told_->plan.size();
  }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    switch (column) {
      case kBucket:
        return QStringLiteral("b%1").arg(row);
      case kParameters:
        return formatCount(told_->plan[row].parameters.size());
      case kBytes:
        return formatBytes(told_->plan[row].bytes);
      default:
        return formatTime(*number(row, column), kTimeStepNs, 1e6);
    }
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    const cost::BucketMoments& bucket = told_->wanted.buckets[row];
    switch (column) {
      case kBucket:
        return static_cast<double>(row);
      case kParameters:
        return static_cast<double>(told_->plan[row].parameters.size());
      case kBytes:
        return static_cast<double>(told_->plan[row].bytes);
      case kFull:
        return bucket.fullNs;
      case kLaunched:
        return bucket.launchedNs;
      case kBegan:
        return bucket.beganNs;
      default:
        return bucket.endedNs;
    }
  }

  [[nodiscard]] QString tip(std::size_t, std::size_t) const override { return {}; }

 private:
  enum Cell : std::size_t { kBucket, kParameters, kBytes, kFull, kLaunched, kBegan };

  static Column column(const QString& title) {
    return {title, {}, true, true, Qt::AlignRight, Qt::AlignHCenter};
  }

  std::shared_ptr<const WhatIf> told_;
};

}  // namespace

std::shared_ptr<const TableRows> whatIfRows(std::shared_ptr<const WhatIf> told) {
  return std::make_shared<WhatIfRows>(std::move(told));
}

}  // namespace lockstep::ui
