#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <optional>
#include <vector>

#include "ui/views/hooks/HooksContent.h"

namespace lockstep::ui {

/// The table twin of the hooks canvas: a row for each bucket as a whole and for each of its
/// phases. Qt::EditRole holds the numbers as they are, for sorting and for copies (durations in
/// ms, bytes, share in percent). [ui-thread]
class HooksTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kRun,
    kBucket,
    kPhase,
    kCount,
    kMean,
    kP50,
    kP90,
    kP99,
    kMax,
    kShare,
    kBefore,
    kAfter,
    kRatio,
    kColumnCount
  };

  using QAbstractTableModel::QAbstractTableModel;

  void setContent(std::shared_ptr<const HooksContent> content);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

  [[nodiscard]] const HookPick& pickOf(int row) const;
  /// The row of a pick in the first run that has it; -1 when there is none.
  [[nodiscard]] int rowOf(const HookPick& pick) const;

 private:
  struct Row {
    std::size_t side = 0;
    HookPick pick;
  };

  [[nodiscard]] QVariant number(const Row& row, int column) const;
  [[nodiscard]] QString text(const Row& row, int column) const;

  std::shared_ptr<const HooksContent> content_;
  std::vector<Row> rows_;
};

}  // namespace lockstep::ui
