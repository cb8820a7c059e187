#include "app/cli/ReadExperiment.h"

#include "engine/plugin/ResolveHooks.h"

namespace lockstep::cli {

experiment::ParseOutcome readExperiment(const std::string& file,
                                        const experiment::Overrides& overrides) {
  auto parsed = experiment::parseFile(file, overrides);
  plugin::resolveHooks(parsed, file);
  return parsed;
}

}  // namespace lockstep::cli
