#pragma once

#include <string>
#include <vector>

#include "engine/process_group/CommError.h"

namespace lockstep::process_group {

/// Why an operation, or a group, failed.
struct Failure {
  std::string what;  ///< empty: it did not
  int peer = -1;     ///< the rank it failed with, where that is known
  CommErrorKind kind = CommErrorKind::kBackend;
  std::vector<int> culprits = {};  ///< as CommError::Where's
};

/// Thrown where an operation waits that somebody has failed meanwhile; it knows why.
struct Interrupted {};

}  // namespace lockstep::process_group
