#pragma once

#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Parse.h"

namespace lockstep::cli {

/// Reads an experiment file, and checks its hooks against what their plugins say.
experiment::ParseOutcome readExperiment(const std::string& file,
                                        const experiment::Overrides& overrides = {});

/// Takes "key=value" apart; `where` is what of the command line they are.
base::Result<experiment::Overrides> overridesOf(const std::vector<std::string>& sets,
                                                const std::string& where);

}  // namespace lockstep::cli
