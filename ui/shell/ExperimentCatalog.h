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
  QString mistake;  ///< the first, when the file does not hold a valid experiment
};

/// Lists every *.toml below `folder`, groups in alphabetical order with "first_steps" first,
/// and "demo" first of its group.
std::vector<ExperimentEntry> listExperiments(const QString& folder);

/// Reads one file.
ExperimentEntry readExperiment(const QString& path, const QString& root);

}  // namespace lockstep::ui
