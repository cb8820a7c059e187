#pragma once

#include <cstdlib>
#include <functional>

#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {

/// runGroup() over shared memory.
inline void runShared(int size, const std::function<void(ProcessGroup&)>& body,
                      const GroupOptions& options = quickOptions()) {
  runGroup(size, body, options, "shared_memory");
}

/// How often a random test is to be done: what the variable of the environment says, if it is set.
inline int numberFrom(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace lockstep::process_group
