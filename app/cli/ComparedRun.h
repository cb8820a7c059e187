#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/analysis/Compare.h"
#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {

/// What a comparison needs of a run file, live or finished.
struct ComparedRun {
  std::filesystem::path path;
  trace::RunInfo info;
  analysis::Settings settings;
  analysis::RunData data;
  analysis::RunAnalysis analysis;
  analysis::Outcome outcome;
};

base::Result<ComparedRun> readComparedRun(const std::filesystem::path& path);

/// Returns the comparison as one JSON object on several lines; `runs` are those compared.
std::string toJson(const analysis::Comparison& comparison, const std::vector<ComparedRun>& runs);

/// Returns the comparison as tables and sentences.
std::string comparisonText(const analysis::Comparison& comparison,
                           const std::vector<ComparedRun>& runs);

}  // namespace lockstep::cli
