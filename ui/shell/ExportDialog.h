#pragma once

#include <QDialog>
#include <QString>
#include <optional>

#include "ui/model/Span.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QRadioButton;

namespace lockstep::ui {

/// What is to be written of a run, and where.
struct ExportRequest {
  enum class What { kTrace, kHtaTraces, kTable, kPicture };
  What what = What::kTrace;
  QString table;  ///< of kTable: exports::TableInfo::name
  QString path;   ///< a folder for kHtaTraces, else a file
  bool markedOnly = false;
};

/// Asks what to export of a run, in which form and where to. [ui-thread]
class ExportDialog : public QDialog {
  Q_OBJECT

 public:
  /// `run`: path of the run file; `view`: title of the view that a picture would show; `marked`:
  /// the range filter of the timeline, if there is one. `folder`: where files are offered.
  ExportDialog(const QString& run, const QString& view, const std::optional<TimeRange>& marked,
               const QString& folder, QWidget* parent = nullptr);

  [[nodiscard]] ExportRequest request() const;

 private:
  QRadioButton* addChoice(const char* name, const QString& title, const QString& explanation);
  void suggest();
  void check();
  void browse();
  [[nodiscard]] ExportRequest::What what() const;
  [[nodiscard]] QString suggestion() const;

  QString run_;
  QString folder_;
  QRadioButton* trace_;
  QRadioButton* hta_;
  QRadioButton* table_;
  QRadioButton* picture_;
  QComboBox* tables_;
  QCheckBox* marked_;
  QCheckBox* packed_;
  QLineEdit* path_;
  QLabel* note_;
  QPushButton* go_;
};

}  // namespace lockstep::ui
