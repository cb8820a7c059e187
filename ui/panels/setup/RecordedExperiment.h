#pragma once

#include <string>

namespace lockstep::ui {

/// The experiment of a run file as a person would have written it: without what stands by default,
/// and no longer one run of a sweep. `name` is what it is called from now on.
std::string asWritten(const std::string& recorded, const std::string& name);

}  // namespace lockstep::ui
