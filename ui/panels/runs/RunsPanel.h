#pragma once

#include <QFileSystemWatcher>
#include <QList>
#include <QString>
#include <QThread>
#include <QTimer>
#include <QWidget>
#include <memory>

#include "ui/panels/runs/RunLabelForm.h"
#include "ui/panels/runs/RunsScanner.h"
#include "ui/panels/runs/RunsTable.h"
#include "ui/table/TableView.h"

class QAction;
class QComboBox;
class QLineEdit;
class QMenu;

namespace lockstep::ui {

class EmptyState;
class ViewOrEmpty;

/// Lists the runs of a folder and keeps the list true: it watches the folder, and looks again
/// once a second while a run in it is live. What a row asks for goes out as a signal.
/// [ui-thread]
class RunsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit RunsPanel(const QString& folder, QWidget* parent = nullptr);
  ~RunsPanel() override;

  [[nodiscard]] const RunsTable& runs() const { return *runs_; }
  [[nodiscard]] TableView* view() const { return view_; }
  [[nodiscard]] QString folder() const { return folder_; }

  /// Reads the folder again now.
  void refresh();

  /// The runs whose rows are selected, the current one first.
  [[nodiscard]] QStringList selectedRuns() const;

  /// Marks the row of the run that the window shows.
  void setCurrentRun(const QString& path);

  /// The runs that are compared, A first; they have their letters and colours here, too.
  void setCompared(const QStringList& paths);

  /// Has runs that have the same by a key of RunGroups stand together; nothing: none.
  void setGroupBy(const QString& key);

  /// What its keys do, for menus and the key sheet.
  [[nodiscard]] const QList<QAction*>& panelActions() const { return actions_; }

 signals:
  /// What the window says of the runs that it shows; the scanner listens, in its thread.
  void runShown(const QString& path);
  void figuresKnown(const QString& path, const lockstep::ui::RunFigures& figures);
  void openRequested(const QString& path);
  void stopRequested(const QString& path);
  void repeatRequested(const QString& path);
  void runAgainRequested(const QString& path);
  void editCopyRequested(const QString& path);
  void demoRequested();
  /// Another key was chosen in the box; empty: no groups.
  void groupByChosen(const QString& key);
  /// Two runs or more, the one that was chosen first in front.
  void compareRequested(const QStringList& paths);
  /// After each scan.
  void refreshed();
  /// Of the scanner, in its thread.
  void scanWanted();
  /// One of its commands was given while it was out of sight.
  void sightWanted();
  /// A file could not be moved to the trash, or a label not be written.
  void failed(const QString& sentence);

 private:
  void buildTable();
  void buildActions();
  void wireScanner();
  void takeEntries(std::vector<RunEntry> entries);
  void showRows(std::vector<RunEntry> entries);
  void sayWhyEmpty();
  void offerGroups();
  void showGroupBy();
  void editLabels(RunLabelForm::Field field);
  void keepLabel(const QString& run, const RunLabel& label);
  [[nodiscard]] std::vector<RunEntry> selectedEntries() const;
  void addRunVerbs(QMenu& menu, const RunEntry& entry);
  void showMenu(const QPoint& position);
  void moveToTrash(const RunEntry& entry);

  QString folder_;
  std::shared_ptr<const RunsTable> runs_ = std::make_shared<RunsTable>();
  QString groupBy_;
  QStringList compared_;
  QStringList offered_;  // settings by which runs can be grouped
  QList<QAction*> actions_;
  QLineEdit* line_ = nullptr;
  QComboBox* groups_ = nullptr;
  RunLabelForm* labels_ = nullptr;
  TableView* view_ = nullptr;
  EmptyState* empty_ = nullptr;
  ViewOrEmpty* page_ = nullptr;
  QFileSystemWatcher watcher_;
  QTimer again_;
  QThread thread_;
  RunsScanner* scanner_ = nullptr;  // lives in thread_, deleted by its finished()
  bool scanning_ = false;
  bool scanAgain_ = false;
  QString currentRun_;
  bool markCurrent_ = false;  // its row has not been there yet
};

}  // namespace lockstep::ui
