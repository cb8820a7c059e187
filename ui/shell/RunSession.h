#pragma once

#include <QObject>
#include <QString>
#include <span>

#include "ui/model/RunAnalyser.h"
#include "ui/model/RunDiagnoser.h"
#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"
#include "ui/panels/runs/RunEntry.h"
#include "ui/shell/StartupProgress.h"
#include "ui/stage/OpenRun.h"

namespace lockstep::ui {

/// One open run: its model and view state, and what of it is news to the window. [ui-thread]
class RunSession : public QObject {
  Q_OBJECT

 public:
  explicit RunSession(const QString& path, QObject* parent = nullptr);

  [[nodiscard]] RunModel* model() { return &model_; }
  [[nodiscard]] ViewState* state() { return &state_; }
  [[nodiscard]] RunAnalyser* analyser() { return &analyser_; }
  [[nodiscard]] RunDiagnoser* diagnoser() { return &diagnoser_; }
  /// All of it, for the views.
  [[nodiscard]] OpenRun open() { return {&model_, &state_, &analyser_}; }
  [[nodiscard]] QString path() const { return path_; }
  /// The experiment's name, or the file's while that is not known.
  [[nodiscard]] QString name() const;
  [[nodiscard]] quint64 drops() const;

  /// Shows a whole iteration of a rank (of all when -1, or when that rank did not end it);
  /// returns false when the run file does not hold it.
  bool showStep(std::uint32_t step, int rank = -1);

  /// Has all that is here analysed; `analysed` follows, at once where it is.
  void analyse();

  /// The last iteration that any rank finished.
  [[nodiscard]] std::optional<std::uint32_t> lastStep() const;

  /// The longest iteration of the slowest rank, warm-up and rebuild left out.
  [[nodiscard]] std::optional<std::uint32_t> slowestStep() const;

 signals:
  void logGrew(std::span<const lockstep::trace::LogRow> rows);
  void problemsGrew(std::span<const lockstep::trace::ProblemRow> rows);
  void startupChanged(const lockstep::ui::StartupProgress& progress);
  void startupEnded();
  void stateChanged(lockstep::trace::RunState state);
  /// All of a run that has ended is analysed: as `analyse` asked for, or somebody else.
  void analysed(const lockstep::ui::RunFigures& figures);

 private:
  void takeChange();

  QString path_;
  RunModel model_;
  ViewState state_;
  RunAnalyser analyser_{model_};
  RunDiagnoser diagnoser_{model_, analyser_};
  std::size_t logSeen_ = 0;
  std::size_t problemsSeen_ = 0;
  bool infoSeen_ = false;
  bool startingUp_ = false;  // live, and no rank has done its first steps
  bool startupOver_ = false;
  trace::RunState stateSeen_ = trace::RunState::kStarting;
};

}  // namespace lockstep::ui
