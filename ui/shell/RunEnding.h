#pragma once

#include <QObject>
#include <QString>

#include <vector>

#include "engine/trace/RunFile.h"
#include "ui/shell/MessageBar.h"

namespace lockstep::ui {

class ProblemsPanel;
class RunSession;

/// Says above the stage how far a run came, with what can be done about its end; that it ended
/// badly is said by the verdict. A run that ended well is told of only where it was live while it
/// was open here. Ends with its session. [ui-thread]
class RunEnding : public QObject {
  Q_OBJECT

 public:
  RunEnding(RunSession& session, MessageBar& messages, ProblemsPanel& problems);
  /// Takes back what was said.
  ~RunEnding() override;

  /// Offers to compare with a run of this name when it has ended well or was stopped.
  void offerComparison(const QString& with) { comparedWith_ = with; }
  /// Takes back what it says.
  void withdraw();

 signals:
  void compareRequested();
  void repeatRequested();
  void problemsRequested();

 private:
  void tell(trace::RunState state);
  [[nodiscard]] QString when() const;
  [[nodiscard]] std::vector<MessageBar::Button> withComparison(
      std::vector<MessageBar::Button> buttons);

  RunSession& session_;
  MessageBar& messages_;
  ProblemsPanel& problems_;
  QString comparedWith_;  // empty: nothing is offered
  bool sawLive_ = false;
};

}  // namespace lockstep::ui
