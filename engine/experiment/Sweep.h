#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/experiment/Parse.h"

namespace lockstep::experiment {

// Note [Sweep]
// A table [sweep] gives keys of the experiment lists of values, `"ddp.bucket_cap_mb" = [1, 5]`, and
// stands for one run with each combination: the last key changes fastest. In a run, its values win
// over the rest of the file as overrides do (Parse.h), so that a file may say train.epochs and
// sweep train.steps. Each run is an experiment of its own; what it is part of stands in its [sweep]
// as group and run, which lockstep run writes.

/// A sweep with more is a mistake of typing rather than a plan.
inline constexpr std::size_t kMostSweptRuns = 256;

/// One run of a sweep.
struct SweptRun {
  /// What is varied, as people read it: "bucket_cap_mb=5, hook=topk"; empty without a sweep.
  std::string label;
  ParseOutcome parsed;
};

/// What a file stands for: one run, or those of its sweep.
struct SweptExperiment {
  std::vector<SweptRun> runs;     ///< at least one
  std::vector<Mistake> mistakes;  ///< of all runs, each once

  [[nodiscard]] bool isSweep() const { return !runs.front().label.empty(); }
  /// Gathers the mistakes anew, after more were added to runs.
  void gather();
  /// Names each run of a sweep after what is varied in it, and writes what it is part of into it.
  void nameRuns(const std::string& group);
};

/// Parses a file as parseFile does, and every run of its sweep. [any-thread]
SweptExperiment expandFile(const std::filesystem::path& path, const Overrides& overrides = {});

/// The same for a text.
SweptExperiment expandText(std::string_view toml, const std::string& name,
                           const std::filesystem::path& folder, const Overrides& overrides = {});

/// Returns a label as a part of a file's name: "bucket_cap_mb=5,hook=topk".
std::string fileNamePart(const std::string& label);

}  // namespace lockstep::experiment
