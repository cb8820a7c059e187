#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

#include "ui/panels/AskedProgram.h"

class QWidget;

namespace lockstep::ui {

class MessageBar;
class RunController;

/// Makes runs of what other tools recorded: starts `lockstep import` in the background, one at a
/// time, and tells of it above the stage. [ui-thread]
class TraceImport : public QObject {
  Q_OBJECT

 public:
  /// `window` owns this; the others outlive it.
  TraceImport(const RunController& controller, MessageBar& messages, QWidget* window);
  /// Ends an import that goes on; what it has written is removed.
  ~TraceImport() override;

  /// Ask for what is to be imported.
  void chooseFiles();
  void chooseFolder();
  /// Imports these files and folders, if there are any, into one run in the runs folder; `imported`
  /// follows, or a message that says why not.
  void start(const QStringList& paths);

  [[nodiscard]] bool busy() const { return program_.busy(); }

 signals:
  /// `leftOut`: what it says of files that are no part of the run; empty: none were left out.
  void imported(const QString& runPath, const QString& leftOut);
  /// The one line that says why it was not.
  void failed(const QString& sentence);

 private:
  void read(const QByteArray& text);
  void tellProgress();
  void take(const ProgramAnswer& answer);
  void fail(const QString& sentence);
  void removeRun() const;

  const RunController& controller_;
  MessageBar& messages_;
  QWidget* window_;
  AskedProgram program_;
  bool cancelled_ = false;
  QString what_;
  QString runPath_;
  QString said_;     // its last line
  QString leftOut_;  // the one about files that are no part of the run
  QElapsedTimer since_;
  QTimer tick_;
};

}  // namespace lockstep::ui
