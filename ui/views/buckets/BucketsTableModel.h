#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {

/// The table twin of the stage: a row for each parameter, in the order of registration.
/// [ui-thread]
class BucketsTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kParameter, kShape, kBytes, kBucket, kFirstReady };
  /// What a proxy sorts by: numbers where the column shows numbers.
  static constexpr int kSortRole = Qt::UserRole;

  using QAbstractTableModel::QAbstractTableModel;

  /// Null: no rows.
  void setStory(std::shared_ptr<const BucketStory> story);
  [[nodiscard]] int orderColumn() const { return kFirstReady + ranks(); }
  [[nodiscard]] int waitColumn() const { return orderColumn() + 1; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  [[nodiscard]] int ranks() const { return story_ ? story_->rankCount() : 0; }
  [[nodiscard]] QVariant textOf(std::uint32_t parameter, int column) const;
  [[nodiscard]] QVariant sortKeyOf(std::uint32_t parameter, int column) const;
  [[nodiscard]] QString toolTipOf(int column) const;

  std::shared_ptr<const BucketStory> story_;
};

}  // namespace lockstep::ui
