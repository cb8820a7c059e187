#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

#include "engine/base/Result.h"
#include "ui/shell/Programs.h"

class QProcess;

namespace lockstep::ui {

class MessageBar;

/// Makes runs of what other tools recorded: starts `lockstep import` in the background, one at a
/// time, and tells of it above the stage. [ui-thread]
class TraceImport : public QObject {
  Q_OBJECT

 public:
  TraceImport(const Programs& programs, MessageBar& messages, QObject* parent = nullptr);
  /// Ends an import that goes on; what it has written is removed.
  ~TraceImport() override;

  void setPrograms(const Programs& programs) { programs_ = programs; }

  /// Imports these files and folders into one run. `runPath`: does not exist; `imported` follows,
  /// or a message that says why not.
  void start(const QStringList& paths, const QString& runPath);

  [[nodiscard]] bool busy() const { return process_ != nullptr; }

 signals:
  /// `leftOut`: what it says of files that are no part of the run; empty: none were left out.
  void imported(const QString& runPath, const QString& leftOut);
  /// The one line that says why it was not.
  void failed(const QString& sentence);

 private:
  void read();
  void tellProgress();
  void takeEnd(int exitCode, bool crashed);
  void fail(const QString& sentence);
  void removeRun() const;

  Programs programs_;
  MessageBar& messages_;
  QProcess* process_ = nullptr;
  bool cancelled_ = false;
  QString what_;
  QString runPath_;
  QString said_;     // its last line
  QString leftOut_;  // the one about files that are no part of the run
  QElapsedTimer since_;
  QTimer tick_;
};

}  // namespace lockstep::ui
