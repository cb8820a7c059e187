#pragma once

#include <QWidget>

#include "ui/panels/LogModel.h"

class QComboBox;
class QLineEdit;
class QTableView;
class QToolButton;

namespace lockstep::ui {

class ElidedLabel;

/// Shows the log, filtered by rank, level and text; sorted, copied and written as CSV; stays at
/// the end while the end is in sight. [ui-thread]
class LogPanel : public QWidget {
  Q_OBJECT

 public:
  explicit LogPanel(QWidget* parent = nullptr);

  void clear();
  /// See LogModel::setTimes.
  void setTimes(LogModel::Times times) { model_.setTimes(std::move(times)); }
  void setWorldSize(int ranks);
  void append(std::span<const trace::LogRow> rows);

  [[nodiscard]] const LogModel& model() const { return model_; }

 private:
  void filterText();
  void refreshWords();

  LogModel model_;
  LogFilter filter_;
  QComboBox* rank_ = nullptr;
  QComboBox* level_ = nullptr;
  QLineEdit* text_ = nullptr;
  QToolButton* pattern_ = nullptr;
  ElidedLabel* words_ = nullptr;
  QTableView* view_ = nullptr;
};

}  // namespace lockstep::ui
