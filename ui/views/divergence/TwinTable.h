#pragma once

#include <QTableView>
#include <cstddef>
#include <memory>

#include "ui/views/divergence/RowsModel.h"

namespace lockstep::ui {

/// The table beside a canvas: the same rows, sortable by each column, Ctrl+C copies the selected
/// rows with their header, tab separated. [ui-thread]
class TwinTable : public QTableView {
  Q_OBJECT

 public:
  /// `name` is what a screen reader calls it.
  explicit TwinTable(const QString& name, QWidget* parent = nullptr);

  /// Rows with other columns make them wide enough for what they show first; with the same ones the
  /// place and the marked row stay.
  void setRows(std::shared_ptr<const TableRows> rows);
  /// Marks a row without `rowChosen`; brings it into sight.
  void showRow(std::size_t row);
  void showNoRow();
  [[nodiscard]] RowsModel& rowsModel() { return model_; }

 signals:
  /// The user chose a row by mouse or keys.
  void rowChosen(std::size_t row);

 private:
  void fitColumns();

  RowsModel model_;
  bool showing_ = false;  // a row is marked by the program
};

}  // namespace lockstep::ui
