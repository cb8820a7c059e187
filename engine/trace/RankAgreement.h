#pragma once

#include <optional>
#include <string>

#include "engine/trace/Messages.h"

namespace lockstep::trace {

/// Names the first item in which rank `rank`'s parameters differ from rank 0's, or nothing
/// when they agree.
std::optional<std::string> firstDifference(int rank, const ParametersMessage& ofRank0,
                                           const ParametersMessage& ofRank);

/// The same for two bucket assignments of one layout number.
std::optional<std::string> firstDifference(int rank, const BucketsMessage& ofRank0,
                                           const BucketsMessage& ofRank);

}  // namespace lockstep::trace
