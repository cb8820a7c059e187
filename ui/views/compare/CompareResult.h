#pragma once

#include <QString>
#include <map>
#include <memory>
#include <vector>

#include "engine/analysis/Compare.h"
#include "engine/analysis/Durations.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// What a run is compared by, free of its model, so that any thread may compare it.
struct CompareInput {
  QString name;    ///< of the experiment
  QString detail;  ///< of the file: what tells two runs of one experiment apart
  analysis::Settings settings;
  std::shared_ptr<const AnalysedRun> analysed;
  analysis::LastMetrics metrics;
  std::vector<trace::RankInfo> ranks;
  bool live = false;
};

/// Takes what a comparison needs out of a model. [ui-thread]
CompareInput compareInput(const RunModel& model, std::shared_ptr<const AnalysedRun> analysed);

/// What the distribution of durations is about: the whole iteration is kStep.
using Distributions = std::map<trace::EventKind, analysis::Durations>;

/// Everything that is shown of a comparison; never changed once made.
struct CompareResult {
  std::vector<CompareInput> runs;
  analysis::Comparison comparison;
  std::vector<Distributions> distributions;      ///< by run: in measured iterations
  std::vector<std::uint32_t> typicalIterations;  ///< by run: the one whose length is the median's
};

/// Compares the runs with the first. [any-thread]
std::shared_ptr<const CompareResult> compareRuns(std::vector<CompareInput> runs);

/// "A", the run that the others are compared with, "B", …
QString letterOf(std::size_t run);
/// "A  a hook inside a hook"; with its file where another run has that name: "B  demo (demo_2)".
QString titleOfRun(const CompareResult& result, std::size_t run);

}  // namespace lockstep::ui
