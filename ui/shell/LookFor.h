#pragma once

#include <QObject>
#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "ui/shell/ExperimentCatalog.h"

class QAction;
class QWidget;

namespace lockstep::ui {

class MessageBar;

/// What a shipped experiment says one should look for in its run: the command shows it above the
/// views, beside the run, and takes it away again. [ui-thread]
class LookFor : public QObject {
  Q_OBJECT

 public:
  /// `command` can be given while the open run is one of `experiments` that says something.
  LookFor(std::vector<ExperimentEntry> experiments, MessageBar& messages, QAction* command,
          QObject* parent);

  /// Another run is open, or its file has said what it is. `toml`: its experiment, resolved; empty:
  /// there is none.
  void setRun(const std::string& toml);

  /// A button for the command, hidden while it cannot be given; whoever asks owns it.
  [[nodiscard]] QWidget* button() const;

  /// Empty: the run is of no experiment that says something.
  [[nodiscard]] const QString& text() const { return text_; }

 private:
  void toggle();
  [[nodiscard]] QString textOf(const std::string& toml) const;

  std::vector<ExperimentEntry> experiments_;
  MessageBar& messages_;
  QAction* command_;
  std::optional<std::string> toml_;  // that text_ is of
  QString text_;
};

}  // namespace lockstep::ui
