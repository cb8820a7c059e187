#pragma once

#include <QObject>
#include <QString>

#include "engine/trace/RunFile.h"

namespace lockstep::ui {

class MessageBar;
class ProblemsPanel;
class RunSession;

/// Says above the stage how a run ended, with what can be done about it. A run that ended well is
/// told of only where it was live while it was open here. Ends with its session. [ui-thread]
class RunEnding : public QObject {
  Q_OBJECT

 public:
  RunEnding(RunSession& session, MessageBar& messages, ProblemsPanel& problems);
  /// Takes back what was said.
  ~RunEnding() override;

 signals:
  void repeatRequested();
  void problemsRequested();

 private:
  void tell(trace::RunState state);
  [[nodiscard]] QString when() const;

  RunSession& session_;
  MessageBar& messages_;
  ProblemsPanel& problems_;
  bool sawLive_ = false;
};

}  // namespace lockstep::ui
