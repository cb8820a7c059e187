#pragma once

#include <QWidget>

#include "ui/panels/LogLines.h"

class QComboBox;
class QLineEdit;
class QToolButton;

namespace lockstep::ui {

class ElidedLabel;
class RowsModel;
class TableView;
class ViewOrEmpty;

/// Shows the log, filtered by rank, level and text; sorted, copied and written as CSV; stays at
/// the end while the end is in sight. [ui-thread]
class LogPanel : public QWidget {
  Q_OBJECT

 public:
  explicit LogPanel(QWidget* parent = nullptr);

  void clear();
  /// See LogLines.
  void setTimes(LogLines::Times times);
  void setWorldSize(int ranks);
  void append(std::span<const trace::LogRow> rows);

  /// The lines that are shown.
  [[nodiscard]] const RowsModel& model() const;

 private:
  void setLines(std::shared_ptr<const LogLines> lines);
  void filterText();
  void filter();
  void refreshWords();

  std::shared_ptr<const LogLines> lines_ = std::make_shared<LogLines>();
  LogFilter filter_;
  QComboBox* rank_;
  QComboBox* level_;
  QLineEdit* text_;
  QToolButton* pattern_;
  ElidedLabel* words_;
  TableView* view_;
  ViewOrEmpty* page_ = nullptr;
};

}  // namespace lockstep::ui
