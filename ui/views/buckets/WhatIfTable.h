#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "ui/views/buckets/WhatIf.h"

namespace lockstep::ui {

/// The buckets of a forecast, one a row, in the order in which they are launched. [ui-thread]
class WhatIfTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kBucket, kParameters, kBytes, kFull, kLaunched, kBegan, kEnded, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void setForecast(std::shared_ptr<const WhatIf> told);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  std::shared_ptr<const WhatIf> told_;
};

}  // namespace lockstep::ui
