#pragma once

#include <memory>

#include "ui/table/ColumnRows.h"
#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {

/// The table twin of the stage: a row for each parameter, in the order of registration.
class BucketsTableRows : public ColumnRows {
 public:
  enum Cell : std::size_t { kParameter, kShape, kBytes, kBucket, kFirstReady };

  /// Null: no rows.
  explicit BucketsTableRows(std::shared_ptr<const BucketStory> story);

  [[nodiscard]] std::size_t orderColumn() const { return kFirstReady + ranks(); }
  [[nodiscard]] std::size_t size() const override { return story_ ? story_->bucketOf.size() : 0; }
  [[nodiscard]] QString tip(std::size_t, std::size_t column) const override {
    return columns_[column].tip;
  }
  [[nodiscard]] QVariant look(std::size_t row, std::size_t column, int role) const override;
  [[nodiscard]] bool continues(const TableRows& before) const override {
    return before.size() == size();
  }

 private:
  [[nodiscard]] std::size_t ranks() const {
    return story_ ? static_cast<std::size_t>(story_->rankCount()) : 0;
  }
  void addRank(int rank);
  void addWords(const QString& title, const QString& tip,
                QString (*text)(const BucketStory&, std::uint32_t), Number number);

  std::shared_ptr<const BucketStory> story_;
};

}  // namespace lockstep::ui
