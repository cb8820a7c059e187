#pragma once

#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Parse.h"
#include "engine/experiment/Sweep.h"

namespace lockstep::cli {

/// Reads an experiment file, and checks its hooks against what their plugins say.
experiment::ParseOutcome readExperiment(const std::string& file,
                                        const experiment::Overrides& overrides = {});

/// The same for each run of the file's sweep, or for the one run of a file without.
experiment::SweptExperiment readSweep(const std::string& file,
                                      const experiment::Overrides& overrides = {});

/// Takes "key=value" apart; `where` is what of the command line they are.
base::Result<experiment::Overrides> overridesOf(const std::vector<std::string>& sets,
                                                const std::string& where);

}  // namespace lockstep::cli
