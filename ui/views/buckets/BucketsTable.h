#pragma once

#include <QWidget>
#include <memory>

#include "ui/views/buckets/BucketsTableModel.h"

class QSortFilterProxyModel;
class QTableView;

namespace lockstep::ui {

/// The table below the stage: sortable, Ctrl+C copies the chosen rows, all without a choice, as
/// tab-separated text with the header. [ui-thread]
class BucketsTable : public QWidget {
  Q_OBJECT

 public:
  explicit BucketsTable(QWidget* parent = nullptr);

  void setStory(std::shared_ptr<const BucketStory> story);
  /// Selects the row of a parameter, else all of a bucket; -1: none. Tells nobody.
  void showSelection(int parameter, int bucket);
  [[nodiscard]] QTableView* view() const { return view_; }
  [[nodiscard]] QString asText() const;

 signals:
  /// A row was chosen; `rank` by place, -1: any.
  void parameterChosen(int parameter, int rank);

 private:
  void chosen();

  BucketsTableModel model_;
  QSortFilterProxyModel* sorted_;
  QTableView* view_;
  std::shared_ptr<const BucketStory> story_;
  bool quiet_ = false;
};

}  // namespace lockstep::ui
