#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <vector>

#include "engine/plugin/PluginScan.h"
#include "ui/model/BackgroundJob.h"
#include "ui/panels/hooks/FoundHooks.h"
#include "ui/panels/hooks/HookVerifier.h"
#include "ui/table/TableView.h"

class QHBoxLayout;
class QLabel;
class QPushButton;
class QTimer;

namespace lockstep::ui {

class HookDetails;
class HookLoader;
class ViewOrEmpty;

struct HookManagerOptions {
  QString lockstep;  ///< path of the command line program; empty: hooks cannot be verified
  QString folder;    ///< where Load… brings libraries; empty: the user's folder of hooks
  plugin::ScanOptions scan;
};

/// The hooks that were found, and why some were refused: load, reload, verify, disable, use. The
/// studio opens no plugin: lockstep-hookscan and `lockstep hooks --verify` do, and nothing of it
/// blocks. Libraries may be dropped on it. [ui-thread]
class HookManagerPanel : public QWidget {
  Q_OBJECT

 public:
  explicit HookManagerPanel(const HookManagerOptions& options, QWidget* parent = nullptr);
  ~HookManagerPanel() override;

  /// Whose own hooks (`hooks` beside the file) count, too; empty: none's.
  void setExperiment(const QString& file);
  /// Another command line program, and with it other hooks perhaps: asks the folders again.
  void setLockstep(const QString& path);
  /// Asks the plugin folders again.
  void reload();
  /// Opens the dialog that asks for a library.
  void chooseLibrary();
  /// Brings libraries into the user's folder, one after the other.
  void load(const QStringList& paths);
  /// Chooses the row of a hook.
  void show(const QString& hook);

  [[nodiscard]] const FoundHooks& hooks() const { return hooks_; }
  [[nodiscard]] TableView* view() const { return view_; }
  [[nodiscard]] QString message() const;
  [[nodiscard]] bool isBusy() const;

 signals:
  /// "Use in the setup form".
  void useRequested(const QString& hook);
  /// Ids that the setup form offers: usable and not disabled. After each scan and change.
  void offeredChanged(const QStringList& hooks);
  /// The hooks of a library were verified, whatever came of it.
  void verified();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QHBoxLayout* makeButtons();
  [[nodiscard]] TableView* makeTable() const;
  void fillTable();
  [[nodiscard]] const HookRow* current() const;
  void currentChanged();
  void rescan();
  void takeScan(std::vector<plugin::FoundLibrary> libraries);
  void verifyCurrent();
  void takeVerdicts(const QString& library, const std::map<QString, HookVerdict>& verdicts,
                    const QString& error);
  void disableCurrent();
  void say(const QString& sentence, bool bad = false);
  void changed();

  HookManagerOptions options_;
  FoundHooks hooks_;
  HookVerifier verifier_;
  HookLoader* loader_;
  QString experiment_;
  std::vector<plugin::FoundLibrary> rejected_;  // offered since the last reload, and refused
  QString afterScan_;                           // the hook to choose then
  BackgroundJob scan_{this};
  bool scanning_ = false;
  QPushButton* reload_ = nullptr;
  QPushButton* verify_ = nullptr;
  QPushButton* disable_ = nullptr;
  QPushButton* use_ = nullptr;
  QLabel* message_;
  QTimer* elapsed_;
  int seconds_ = 0;
  TableView* view_;
  ViewOrEmpty* page_ = nullptr;
  HookDetails* details_;
};

}  // namespace lockstep::ui
