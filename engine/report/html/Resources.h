#pragma once

#include <string_view>

namespace lockstep::report::html {

// The files of this folder that a page carries with it, as they were when Lockstep was built.
extern const std::string_view kStyle;     ///< style.css
extern const std::string_view kTables;    ///< tables.js
extern const std::string_view kTimeline;  ///< timeline.js

}  // namespace lockstep::report::html
