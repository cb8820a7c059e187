#pragma once

#include <QDialog>
#include <QString>
#include <functional>
#include <string>
#include <vector>

#include "ui/panels/setup/HookCatalog.h"
#include "ui/panels/setup/SetupDraft.h"

class QLabel;
class QPushButton;

namespace lockstep::ui {

class FieldEditor;
class HookForm;

/// Asks what of a run's experiment is to be changed before it runs again: the keys that are changed
/// most, as the run had them, and its hook. All others stay as they were. [ui-thread]
class RunAgainDialog : public QDialog {
  Q_OBJECT

 public:
  /// `recorded`: the experiment as the run file holds it; `hookscan`: path of lockstep-hookscan,
  /// empty = beside the running program. With `blocked` nothing can be started, and it says why.
  RunAgainDialog(const std::string& recorded, const QString& run, const QString& hookscan,
                 QString blocked, QWidget* parent = nullptr);

  [[nodiscard]] SetupDraft& draft() { return draft_; }
  /// Writes the experiment that is to run into a file in `folder`; empty after `failed` was told
  /// why, in a sentence.
  [[nodiscard]] QString write(const QString& folder,
                              const std::function<void(const QString& sentence)>& failed) const;

 private:
  void refresh();
  /// Whether a key is of use beside the others as they stand.
  [[nodiscard]] bool counts(const experiment::Field& field) const;

  QString blocked_;
  SetupDraft draft_;
  HookCatalog catalog_;
  std::vector<FieldEditor*> editors_;
  HookForm* hooks_ = nullptr;
  QLabel* reason_ = nullptr;
  QPushButton* go_ = nullptr;
};

}  // namespace lockstep::ui
