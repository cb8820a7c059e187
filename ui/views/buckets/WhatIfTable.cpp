#include "ui/views/buckets/WhatIfTable.h"

#include <utility>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kTimeStepNs = 1e4;

}  // namespace

void WhatIfTable::setForecast(std::shared_ptr<const WhatIf> told) {
  beginResetModel();
  told_ = std::move(told);
  endResetModel();
}

int WhatIfTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || told_ == nullptr ? 0 : static_cast<int>(told_->plan.size());
}

int WhatIfTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant WhatIfTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
  }
  const auto row = static_cast<std::size_t>(index.row());
  const cost::BucketMoments& bucket = told_->wanted.buckets[row];
  const auto time = [](double ns) { return formatTime(ns, kTimeStepNs, 1e6); };
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (index.column()) {
    case kBucket:
      return QStringLiteral("b%1").arg(index.row());
    case kParameters:
      return formatCount(told_->plan[row].parameters.size());
    case kBytes:
      return formatBytes(static_cast<double>(told_->plan[row].bytes));
    case kFull:
      return time(bucket.fullNs);
    case kLaunched:
      return time(bucket.launchedNs);
    case kBegan:
      return time(bucket.beganNs);
    case kEnded:
      return time(bucket.endedNs);
    default:
      return {};
  }
}

QVariant WhatIfTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kBucket:
      return tr("Bucket");
    case kParameters:
      return tr("Parameters");
    case kBytes:
      return tr("Bytes");
    case kFull:
      return tr("Full");
    case kLaunched:
      return tr("Launched");
    case kBegan:
      return tr("Begun");
    case kEnded:
      return tr("Ended");
    default:
      return {};
  }
}

}  // namespace lockstep::ui
