#pragma once

#include <QDateTime>
#include <QMetaType>
#include <QString>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/trace/RunFile.h"
#include "ui/panels/runs/RunLabel.h"
#include "ui/panels/runs/RunSettings.h"

namespace lockstep::analysis {
struct RunAnalysis;
}

namespace lockstep::ui {

/// One row of the runs list, as far as its run file could be read.
struct RunEntry {
  QString path;
  bool unread = false;  ///< only its name is known yet
  QString problem;      ///< why the file cannot be read; empty when it could
  trace::RunState state = trace::RunState::kStarting;
  QString name;
  trace::RunKind kind = trace::RunKind::kExperiment;
  QString model;  ///< empty when the experiment in the file cannot be read, as those below
  int worldSize = 0;
  /// What "auto" became; or the strategy, where that is not DDP and ranks do not talk.
  QString backend;
  QString hook;  ///< empty without DDP, as the next
  std::optional<double> bucketCapMb;
  QString sweep;  ///< the name that the runs of one sweep share; empty for a run that stands alone
  std::optional<double> stepsPerSecond;
  std::optional<double> overlapPercent;
  std::optional<double> exposedMs;
  std::optional<double> stepMs;  ///< the middle one of the measured steps
  std::vector<float> course;     ///< means of them in equal parts of the run, ms
  quint64 drops = 0;
  QDateTime started;
  QString failure;  ///< the line that says why it failed
  RunSettings settings;
  RunLabel label;
  QString subtitle;  ///< in what it differs from others of its name

  /// What it is called in the list.
  [[nodiscard]] const QString& shownName() const {
    return label.name.isEmpty() ? name : label.name;
  }

  /// Returns whether the run goes on, so that its file may still change.
  [[nodiscard]] bool live() const { return !unread && problem.isEmpty() && trace::isLive(state); }

  bool operator==(const RunEntry&) const = default;
};

/// Reads the row of one run file, without its label; blocks on the disk.
RunEntry readRunEntry(const std::filesystem::path& path);
/// What is known before that.
RunEntry unreadRunEntry(const std::filesystem::path& path);

/// What the analysis says of a whole run.
struct RunFigures {
  std::optional<double> stepsPerSecond;
  std::optional<double> overlapPercent;
  std::optional<double> exposedMs;
  std::optional<double> stepMs;
  std::vector<float> course;
};

RunFigures figuresOf(const analysis::RunAnalysis& run);
void takeFigures(RunEntry& entry, const RunFigures& figures);

/// Reads and analyses every span of a run file: seconds for a long run, so never on the UI
/// thread. A file that cannot be read has no figures. [any-thread]
RunFigures readRunFigures(const std::filesystem::path& path);

}  // namespace lockstep::ui

Q_DECLARE_METATYPE(std::vector<lockstep::ui::RunEntry>)
