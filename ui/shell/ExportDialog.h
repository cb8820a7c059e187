#pragma once

#include <QDialog>
#include <QString>
#include <optional>

#include "engine/export/Selection.h"
#include "ui/model/Span.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QRadioButton;
class QVBoxLayout;

namespace lockstep::ui {

/// What can be exported: what was shown when the dialog opened, whatever the window shows later.
struct ExportSubject {
  QString run;                      ///< path of the run file
  QString view;                     ///< title of the view that a picture would show
  std::optional<TimeRange> marked;  ///< the range filter of the timeline, if there is one
  exports::TickRange markedTicks;   ///< the same
};

/// What is to be written of which run, and where.
struct ExportRequest {
  enum class What { kTrace, kHtaTraces, kTable, kPicture, kReport };
  What what = What::kTrace;
  QString table;                        ///< of kTable: exports::TableInfo::name
  QString path;                         ///< a folder for kHtaTraces, else a file
  QString run;                          ///< path of the run file
  std::optional<TimeRange> range = {};  ///< of a picture; none: all that is shown
  exports::Selection selection = {};    ///< of traces and tables
};

/// Asks what to export of a run, in which form and where to. [ui-thread]
class ExportDialog : public QDialog {
  Q_OBJECT

 public:
  /// `folder`: where files are offered.
  ExportDialog(ExportSubject subject, const QString& folder, QWidget* parent = nullptr);

  [[nodiscard]] ExportRequest request() const;

 private:
  QRadioButton* addChoice(const char* name, const QString& title, const QString& explanation);
  void suggest();
  void check();
  void browse();
  [[nodiscard]] ExportRequest::What what() const;
  [[nodiscard]] QString suggestion() const;

  ExportSubject subject_;
  QString folder_;
  QRadioButton* trace_;
  QRadioButton* hta_;
  QRadioButton* table_;
  QRadioButton* picture_;
  QComboBox* tables_;
  QCheckBox* marked_;
  QCheckBox* packed_;
  QLineEdit* path_;
  QVBoxLayout* choices_;
  QLabel* note_;
  QPushButton* go_;
};

}  // namespace lockstep::ui
