#pragma once

#include <QString>
#include <vector>

namespace lockstep::ui {

class RunModel;

/// How far a run has come up, as its slowest rank says it.
struct StartupProgress {
  struct Stage {
    QString name;
    bool done = false;   ///< on every rank
    double seconds = 0;  ///< of the slowest rank; 0 while not done
    int ranksDone = 0;
  };
  /// Spawn, Rendezvous, Data, Model, Buckets, Step 1; of a job that is only recorded Command,
  /// Attached, Step 1.
  std::vector<Stage> stages;
  int ranks = 0;
  /// Finished steps of the slowest rank.
  std::size_t steps = 0;

  /// The first stage that is not done; stages.size() when all are.
  [[nodiscard]] std::size_t active() const;
};

/// Reads the start-up spans; `model` may be null or empty (nothing is done yet).
StartupProgress startupProgress(const RunModel* model);

/// Of a job whose command has started, and nothing of it has attached.
StartupProgress startOfJob();

}  // namespace lockstep::ui
