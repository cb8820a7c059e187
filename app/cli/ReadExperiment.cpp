#include "app/cli/ReadExperiment.h"

#include <fmt/format.h>

#include "engine/plugin/ResolveHooks.h"

namespace lockstep::cli {

experiment::ParseOutcome readExperiment(const std::string& file,
                                        const experiment::Overrides& overrides) {
  auto parsed = experiment::parseFile(file, overrides);
  plugin::resolveHooks(parsed, file);
  return parsed;
}

experiment::SweptExperiment readSweep(const std::string& file,
                                      const experiment::Overrides& overrides) {
  // Run by run, since a sweep may vary the hook itself. A mistake in a hook that all runs have is
  // then found in each; gather() leaves one.
  auto swept = experiment::expandFile(file, overrides);
  for (auto& run : swept.runs) {
    plugin::resolveHooks(run.parsed, file);
  }
  swept.gather();
  return swept;
}

base::Result<experiment::Overrides> overridesOf(const std::vector<std::string>& sets,
                                                const std::string& where) {
  experiment::Overrides overrides;
  for (const auto& text : sets) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return base::Error{base::ExitCode::kBadInput,
                         fmt::format("\"{}\" is no key=value, such as ddp.bucket_cap_mb=4", text),
                         where};
    }
    overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return overrides;
}

}  // namespace lockstep::cli
