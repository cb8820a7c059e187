#pragma once

#include <QWidget>

#include "ui/panels/ProblemsModel.h"

class QPushButton;
class QTableView;

namespace lockstep::ui {

/// Lists what went wrong. "Show" (or a double-click) asks for the place in the timeline.
/// [ui-thread]
class ProblemsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ProblemsPanel(QWidget* parent = nullptr);

  [[nodiscard]] ProblemsModel& model() { return model_; }

 signals:
  /// Of a problem that has an iteration.
  void showRequested(int rank, quint32 step);

 private:
  void show(const QModelIndex& index);

  ProblemsModel model_;
  QTableView* view_ = nullptr;
  QPushButton* show_ = nullptr;
};

}  // namespace lockstep::ui
