#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "ui/views/live/LiveContent.h"

namespace lockstep::ui {

/// The live view as a table: a row a rank. [ui-thread]
class LiveTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  void setContent(std::shared_ptr<const LiveContent> content,
                  std::shared_ptr<const AnalysedRun> run);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  /// Qt::EditRole gives the number, for sorting.
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  std::shared_ptr<const LiveContent> content_;
  std::shared_ptr<const AnalysedRun> run_;
};

}  // namespace lockstep::ui
