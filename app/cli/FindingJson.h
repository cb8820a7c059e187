#pragma once

#include <nlohmann/json.hpp>

#include "engine/diagnosis/Finding.h"

namespace lockstep::cli {

/// Returns a finding as `lockstep diagnose --json` and `lockstep info --json` print it: rule,
/// weight, title, sentence, remedy; saving_ms in ms a step, where one is known; settings by key, as
/// TOML; place, of which rank, step, bucket, parameter and phase are there where it has them.
nlohmann::ordered_json findingJson(const diagnosis::Finding& finding);

}  // namespace lockstep::cli
