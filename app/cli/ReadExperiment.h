#pragma once

#include <string>

#include "engine/experiment/Parse.h"

namespace lockstep::cli {

/// Reads an experiment file, and checks its hooks against what their plugins say.
experiment::ParseOutcome readExperiment(const std::string& file,
                                        const experiment::Overrides& overrides = {});

}  // namespace lockstep::cli
