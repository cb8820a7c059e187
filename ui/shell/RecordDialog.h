#pragma once

#include <QDialog>
#include <QString>
#include <vector>

#include "ui/shell/JobRequest.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QRadioButton;
class QSpinBox;

namespace lockstep::ui {

/// Asks for a job of PyTorch that is to be recorded; offers those that were recorded last.
/// [ui-thread]
class RecordDialog : public QDialog {
  Q_OBJECT

 public:
  /// `recent`: the latest first; `runs`: the folder that runs go to. With `blocked` nothing can be
  /// started, and it says why.
  RecordDialog(std::vector<JobRequest> recent, QString runs, QString blocked,
               QWidget* parent = nullptr);

  /// Writes a job into the fields; `hint` tells what of it is guessed.
  void fill(const JobRequest& job, const QString& hint = {});
  [[nodiscard]] JobRequest request() const;

 private:
  void buildFields(QWidget* parent);
  void check();
  void chooseFolder();

  std::vector<JobRequest> recent_;
  QString runs_;
  QString blocked_;
  QComboBox* command_;
  QLineEdit* folder_;
  QRadioButton* every_;
  QRadioButton* watched_;
  QSpinBox* replicas_;
  QComboBox* detail_;
  QSpinBox* limit_;
  QPlainTextEdit* environment_;
  QLineEdit* run_;
  QLabel* hint_;
  QLabel* note_;
  QPushButton* go_ = nullptr;
};

}  // namespace lockstep::ui
