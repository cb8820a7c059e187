#pragma once

#include <string>
#include <vector>

namespace lockstep::base {

/// Writes sorted numbers as `--ranks` takes them: "0-2, 5" for 0, 1, 2, 5; "none" for none. Where
/// there are more than `most` ranges, the first ones: "0, 2, 4 and 61 more".
std::string rangesText(const std::vector<int>& numbers, std::size_t most = std::string::npos);

}  // namespace lockstep::base
