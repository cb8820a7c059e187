#pragma once

#include <QString>
#include <vector>

namespace lockstep::ui {

/// One experiment file.
struct ExperimentEntry {
  QString path;
  QString group;    ///< its folder below the root: "first_steps"
  QString name;
  QString shows;
  QString lookFor{};  ///< what to look for in its run; empty: the file does not say
  QString mistake{};  ///< the first, when the file does not hold a valid experiment
};

/// Lists every *.toml below `folder`, groups in alphabetical order with "first_steps" first,
/// and "demo" first of its group. `first`: a file that comes before all, wherever it lies.
std::vector<ExperimentEntry> listExperiments(const QString& folder, const QString& first = {});

/// Reads one file.
ExperimentEntry readExperiment(const QString& path, const QString& root);

}  // namespace lockstep::ui
