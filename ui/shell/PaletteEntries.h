#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

#include "ui/shell/CommandPalette.h"
#include "ui/shell/ExperimentCatalog.h"

namespace lockstep::ui {

struct Commands;
class CurrentRun;
class Docks;
struct Programs;

/// What the command palette lists, as it stands now.
struct PaletteSources {
  const Commands& commands;
  const Docks& docks;
  CurrentRun& run;
  const std::vector<ExperimentEntry>& experiments;
  const Programs& programs;
  QStringList recentRuns;
  std::function<void(const QString& path)> runExperiment;
};

std::vector<CommandPalette::Entry> paletteEntries(const PaletteSources& from);

}  // namespace lockstep::ui
