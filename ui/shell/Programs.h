#pragma once

#include <QString>

namespace lockstep::ui {

/// Where the studio finds what it starts and shows.
struct Programs {
  QString lockstep;     ///< path of the command line program; empty when there is none
  QString rank;         ///< path of `lockstep-rank`; empty when there is none
  QString folder;       ///< where both were looked for
};

/// Looks in `folder`, or beside the studio's own executable when that is empty.
Programs findPrograms(const QString& folder);

/// Finds the shipped experiments: `experiments/` in a folder above the executable, or
/// `share/lockstep/experiments` beside its folder. Empty when there are none.
QString shippedExperiments();

/// Where runs are kept when nothing else is said: in the user's data folder.
QString defaultRunsFolder();

}  // namespace lockstep::ui
