#include "ui/views/buckets/BucketsTableModel.h"

#include <limits>
#include <utility>

#include "ui/model/Format.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/views/buckets/BucketFacts.h"

namespace lockstep::ui {
namespace {

// Behind every number, so that what is unknown comes last.
constexpr double kUnknown = std::numeric_limits<double>::max();

}  // namespace

void BucketsTableModel::setStory(std::shared_ptr<const BucketStory> story) {
  const bool sameShape = story != nullptr && story_ != nullptr &&
                         story->bucketOf.size() == story_->bucketOf.size() &&
                         story->rankCount() == story_->rankCount();
  if (sameShape) {
    // A live run brings a story with each iteration: what is selected and where it is scrolled to
    // stay.
    story_ = std::move(story);
    if (rowCount() > 0) {
      emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    }
    return;
  }
  beginResetModel();
  story_ = std::move(story);
  endResetModel();
}

int BucketsTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !story_ ? 0 : static_cast<int>(story_->bucketOf.size());
}

int BucketsTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : waitColumn() + 1;
}

QVariant BucketsTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !story_ || index.row() >= rowCount()) {
    return {};
  }
  const auto parameter = static_cast<std::uint32_t>(index.row());
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
      return textOf(parameter, column);
    case kSortRole:
      return sortKeyOf(parameter, column);
    case Qt::TextAlignmentRole:
      return QVariant(column >= kBytes && column < orderColumn()
                          ? Qt::AlignRight | Qt::AlignVCenter
                          : Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::ToolTipRole:
      return toolTipOf(column);
    case Qt::DecorationRole:
      if (column == kBucket && story_->bucketOf[parameter] != trace::kNoBucket) {
        return currentPalette().bucket(story_->bucketOf[parameter]);
      }
      return {};
    case Qt::ForegroundRole:
      if (column >= kFirstReady && column < orderColumn()) {
        const auto* gradient = story_->readyOn(column - kFirstReady, parameter);
        if (gradient != nullptr && gradient->againstBuckets) {
          return currentPalette().warning;
        }
      }
      return {};
    default:
      return {};
  }
}

QVariant BucketsTableModel::textOf(std::uint32_t parameter, int column) const {
  const bool known = parameter < story_->parameters.size();
  switch (column) {
    case kParameter:
      return story_->nameOf(parameter);
    case kShape:
      return shapeText(*story_, parameter);
    case kBytes:
      return known ? formatCount(static_cast<std::uint64_t>(story_->parameters[parameter].bytes))
                   : QString();
    case kBucket:
      return story_->bucketOf[parameter] == trace::kNoBucket
                 ? tr("–")
                 : QString::number(story_->bucketOf[parameter]);
    default:
      break;
  }
  if (column < orderColumn()) {
    const auto* gradient = story_->readyOn(column - kFirstReady, parameter);
    if (gradient == nullptr) {
      return tr("–");
    }
    const QString mark = gradient->unused           ? QStringLiteral("unused ")
                         : gradient->againstBuckets ? QStringLiteral("▲ ")
                                                    : QString();
    return mark + msText(story_->ns(gradient->ticks));
  }
  const QString text =
      column == orderColumn() ? orderText(*story_, parameter) : waitText(*story_, parameter);
  return text.isEmpty() ? tr("–") : text;
}

QVariant BucketsTableModel::sortKeyOf(std::uint32_t parameter, int column) const {
  switch (column) {
    case kParameter:
      return parameter;  // the order of registration
    case kShape:
    case kBytes:
      return parameter < story_->parameters.size()
                 ? static_cast<double>(story_->parameters[parameter].bytes)
                 : kUnknown;
    case kBucket:
      return story_->placeInBuckets[parameter];
    default:
      break;
  }
  if (column < orderColumn()) {
    const auto* gradient = story_->readyOn(column - kFirstReady, parameter);
    return gradient == nullptr ? kUnknown : story_->ns(gradient->ticks);
  }
  if (column == orderColumn()) {
    const auto* gradient = story_->readyOn(0, parameter);
    return gradient == nullptr ? kUnknown
                               : static_cast<double>(gradient - story_->orders[0].gradients.data());
  }
  return longestWaitNs(*story_, parameter).value_or(-1);
}

QVariant BucketsTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::ToolTipRole) {
    return toolTipOf(section);
  }
  if (role == Qt::TextAlignmentRole) {
    return data(index(0, section), role);
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kParameter:
      return tr("Param");
    case kShape:
      return tr("Shape");
    case kBytes:
      return tr("Bytes");
    case kBucket:
      return tr("Bucket");
    default:
      break;
  }
  if (section < orderColumn()) {
    const auto rank = static_cast<std::size_t>(section - kFirstReady);
    return tr("Ready ms, rank %1").arg(story_->orders[rank].rank);
  }
  return section == orderColumn() ? tr("Order") : tr("Waits for");
}

QString BucketsTableModel::toolTipOf(int column) const {
  switch (column) {
    case kParameter:
      return tr("The parameter; sorts by the order of registration");
    case kShape:
      return tr("Its sizes by dimension");
    case kBytes:
      return tr("Bytes of its gradient");
    case kBucket:
      return tr("Its bucket; sorts by the order within the buckets, too");
    default:
      break;
  }
  if (column < orderColumn()) {
    return tr(
        "Milliseconds from the start of the iteration on the first rank to begin it, until "
        "the gradient was ready on this rank; ▲: out of bucket order");
  }
  return column == orderColumn()
             ? tr("Its place in the ready order; one a rank where they differ")
             : tr("What its launch waited for on the rank where that took longest: the last "
                  "gradient of its bucket, then an earlier bucket, and how long in ms");
}

}  // namespace lockstep::ui
