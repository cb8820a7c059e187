#pragma once

#include <string>

namespace lockstep::base {

/// Names the calling thread as debuggers, `top -H` and the timeline show it; the kernel
/// keeps 15 characters.
void nameThisThread(const std::string& name);

/// Returns the calling thread's name.
std::string thisThreadName();

}  // namespace lockstep::base
