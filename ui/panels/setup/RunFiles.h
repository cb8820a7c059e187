#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <string>
#include <vector>

#include "engine/experiment/Experiment.h"
#include "engine/experiment/ExperimentText.h"

namespace lockstep::ui {

class HookCatalog;
class SetupDraft;

/// Why a draft cannot be run now, a few words; empty: it can. `catalog` is asked about it.
QString reasonAgainstRun(const SetupDraft& draft, const HookCatalog& catalog);

/// Writes what a draft stands for into files, one a run, and returns their paths: the draft's own
/// file where it is saved and varies nothing, else files in `folder`, which is made. Empty after
/// `failed` was called with the reason, a sentence.
QStringList writeRuns(const SetupDraft& draft, const HookCatalog& catalog, const QString& folder,
                      const std::function<void(const QString& sentence)>& failed);

/// Writes an experiment that stands in no file yet, named after it, in the same way.
QString writeExperiment(const experiment::Experiment& experiment, const QString& folder,
                        const std::function<void(const QString& sentence)>& failed);

/// Writes an experiment with some keys changed, named after it and them, into a file in `folder`,
/// which is made; what loses its meaning by that goes. Returns its path; empty after `failed` was
/// told why, in a sentence: the file cannot be written, or the experiment is none any more.
QString writeChanged(const std::string& experiment,
                     const std::vector<experiment::ExperimentText::Pair>& keys,
                     const QString& folder,
                     const std::function<void(const QString& sentence)>& failed);

}  // namespace lockstep::ui
