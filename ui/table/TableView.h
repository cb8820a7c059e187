#pragma once

#include <QTableView>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "ui/table/RowsModel.h"

namespace lockstep::ui {

/// A table of rows: whole rows are chosen, nothing is edited, a click on a title sorts and a third
/// one unsorts, Ctrl+C copies the selected rows with their header, tab separated. [ui-thread]
class TableView : public QTableView {
  Q_OBJECT

 public:
  enum class Copies { kRows, kNothing };

  /// `name` is what a screen reader calls it.
  explicit TableView(const QString& name, Copies copies = Copies::kRows, QWidget* parent = nullptr);

  /// A table that is sorted from the start is always sorted by one of its columns.
  void sortFromTheStart(int column, Qt::SortOrder direction);

  /// See RowsModel. Where the rows continue those before (TableRows), place and selection stay.
  void setRows(std::shared_ptr<const TableRows> rows);
  [[nodiscard]] RowsModel& rowsModel() { return model_; }
  [[nodiscard]] const RowsModel& rowsModel() const { return model_; }

  /// Makes columns as wide as their titles, or as what they show first, too.
  void fitTitles();
  void fitColumns();
  /// From now on, rows that come with other columns have their widths fitted (fitColumns).
  void fitOtherColumns() { fitsOthers_ = true; }

  /// A column that gives way to others, down to so many pixels.
  struct GivesWay {
    int column = 0;
    int least = 0;
  };
  /// Has columns up to `last` be seen without scrolling: where their present widths do not fit, the
  /// columns that give way are narrowed, the first of the list first, and lose a title that no
  /// longer fits. Holds at any width of the table, until the user gives one of them another width.
  void keepInSight(int last, const std::vector<GivesWay>& columns);

  /// The current row; nothing when there is none.
  [[nodiscard]] std::optional<std::size_t> currentRow() const;
  /// Marks a row without `rowChosen`; brings it into sight.
  void showRow(std::size_t row);
  void showNoRow();

 signals:
  /// The user chose a row by mouse or keys.
  void rowChosen(std::size_t row);
  void rowClicked(std::size_t row);
  /// The user asks for it: Enter, or a double click.
  void rowActivated(std::size_t row);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Narrowing {
    GivesWay way;
    int width = 0;  // where there is room
  };

  [[nodiscard]] bool givesWay(int column) const;
  void narrow();

  RowsModel model_;
  bool fitsOthers_ = false;
  bool showing_ = false;  // a row is marked by the program
  int lastInSight_ = 0;
  std::vector<Narrowing> narrowings_;
  bool narrowing_ = false;
};

}  // namespace lockstep::ui
