#pragma once

#include <QString>
#include <QWidget>
#include <string>

#include "ui/panels/setup/HookCatalog.h"
#include "ui/panels/setup/ModelDescriber.h"
#include "ui/panels/setup/RunQueue.h"
#include "ui/panels/setup/SetupDraft.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSplitter;
class QTabWidget;
class QToolButton;

namespace lockstep::ui {

class BucketPreview;
class SetupForm;

/// Where the panel finds what it asks, and where it keeps what was run without being saved.
struct SetupPaths {
  QString rank;          ///< lockstep-rank; empty: there is no bucket preview
  QString hookscan;      ///< lockstep-hookscan; empty = beside the running program
  QString drafts;        ///< folder; made when it is needed
  QString shipped = {};  ///< folder of experiments that are only read; empty: there is none
};

/// The setup of an experiment: a form made from the experiment's schema and from what plugins
/// say of their hooks, with the mistakes that the parser finds under their fields; a preview of
/// the buckets; and the queue of runs. It edits a file that `lockstep run` takes. [ui-thread]
class SetupPanel : public QWidget {
  Q_OBJECT

 public:
  explicit SetupPanel(SetupPaths paths, QWidget* parent = nullptr);
  ~SetupPanel() override;

  [[nodiscard]] SetupDraft& draft() { return draft_; }
  [[nodiscard]] RunQueue& queue() { return queue_; }

  /// Opens an experiment file, after asking what is to become of changes that are not saved.
  /// Returns whether it is open.
  bool open(const QString& path);
  /// Starts anew with a copy of the experiment that a run file holds, called after the run, after
  /// asking the same. Returns whether it is there.
  bool editCopy(const std::string& recorded, const QString& run);
  /// Opens a file and runs it, all of its sweep where it has one, as soon as its plugins are
  /// asked; with mistakes it is only opened. For files that are started elsewhere in the window.
  void openAndRun(const QString& path);
  /// Returns whether changes are saved or may be lost; asks the user when there are any.
  bool mayDiscard();
  /// Why Run does nothing now; empty when it does.
  [[nodiscard]] QString reasonAgainstRun() const;
  /// A sentence above the form about the run that is open; empty takes it back.
  void setNote(const QString& sentence);
  /// Another reason against running, of the window's; empty takes it back. Queueing stays.
  void blockRun(const QString& reason);
  /// The programs changed, as after a build: asks plugins and model again. `rank` is
  /// lockstep-rank; when it is empty, `whyNot` is the sentence in place of the bucket preview.
  void setRank(const QString& rank, const QString& whyNot = {});

 public slots:
  void newExperiment();
  void chooseFile();
  bool save();
  bool saveAs();
  void run();
  /// The same, where plugins are being asked once they have answered.
  void runSoon();
  void queueRun();
  void undo() { draft_.undo(); }
  void redo() { draft_.redo(); }
  /// The hooks of plugins that are usable and not disabled: others are not offered.
  void offerHooks(const QStringList& hooks);
  /// Puts the cursor into the field that filters keys.
  void find();
  /// Shows a key of the form and puts the cursor there.
  void showKey(const QString& key);

 signals:
  /// The window is to run this file. A draft that is not saved is written to a file of its own.
  /// The runs of a sweep go through the queue instead, each as a file of its own.
  void runRequested(const QString& tomlPath);
  /// The draft was saved there.
  void saved(const QString& tomlPath);
  /// What went wrong outside the form: a file that cannot be read or written.
  void failed(const QString& sentence);
  /// The file or whether it has unsaved changes changed.
  void titleChanged(const QString& title, bool dirty);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QWidget* makeTop();
  QSplitter* makeMiddle();
  QLayout* makeBottom();
  void refresh();
  void refreshOthers();
  void refreshActions();
  void ask();
  void showBuckets();
  void filter();
  void queueFiles(const QStringList& files);
  bool saveTo(const QString& path);
  /// Writes what is to run into files, one a run; empty after `failed`.
  QStringList filesToRun();

  SetupPaths paths_;
  SetupDraft draft_;
  HookCatalog catalog_;
  ModelDescriber describer_;
  RunQueue queue_;

  QLabel* note_ = nullptr;
  QLabel* title_ = nullptr;
  QToolButton* saveButton_ = nullptr;
  QToolButton* undo_ = nullptr;
  QToolButton* redo_ = nullptr;
  QLineEdit* search_ = nullptr;
  QCheckBox* advanced_ = nullptr;
  QLabel* others_ = nullptr;
  SetupForm* form_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  BucketPreview* preview_ = nullptr;
  QPushButton* run_ = nullptr;
  QPushButton* queueButton_ = nullptr;
  QLabel* reason_ = nullptr;
  QString blocked_;
  bool runWhenKnown_ = false;
};

}  // namespace lockstep::ui
