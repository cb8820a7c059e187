#pragma once

#include <memory>

#include "ui/table/TableView.h"
#include "ui/views/buckets/BucketsTableRows.h"

namespace lockstep::ui {

/// The table below the stage. [ui-thread]
class BucketsTable : public TableView {
  Q_OBJECT

 public:
  explicit BucketsTable(QWidget* parent = nullptr);

  void setStory(std::shared_ptr<const BucketStory> story);
  /// Selects the row of a parameter, else all of a bucket; -1: none. No signal follows.
  void showSelection(int parameter, int bucket);

 signals:
  /// A row was chosen; `rank` by place, -1: any.
  void parameterChosen(int parameter, int rank);

 private:
  void chosen();

  std::shared_ptr<const BucketStory> story_;
  std::shared_ptr<const BucketsTableRows> rows_;
  bool quiet_ = false;
};

}  // namespace lockstep::ui
