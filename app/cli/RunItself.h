#pragma once

#include <string>

#include "engine/base/Result.h"

namespace lockstep::cli {

/// Errors: writing to `file` would destroy the run that is read.
base::Status refuseRunItself(const std::string& run, const std::string& file);

}  // namespace lockstep::cli
