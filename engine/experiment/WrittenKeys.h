#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lockstep::experiment {

/// Returns the keys that an experiment's text writes out, each with its value as TOML:
/// "ddp.bucket_cap_mb" is "25"; those of the second fault are "faults[1].kind". It asks neither
/// whether a key is known nor whether its value is allowed, so that the experiment of an older or
/// newer run file can be read. Of a text with mistakes of syntax it returns what can be read.
std::map<std::string, std::string> writtenKeys(std::string_view toml);

}  // namespace lockstep::experiment
