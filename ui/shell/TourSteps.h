#pragma once

#include <functional>
#include <vector>

#include "ui/help/Tour.h"

namespace lockstep::ui {

struct Commands;
struct Frame;

/// What the tour of the studio points at, over the open run; without one it begins at the start
/// page and has the demo run (`runDemo`) on the way. All that is given outlives the steps.
/// [ui-thread]
std::vector<TourStep> tourSteps(const Frame& frame, const Commands& commands, bool runIsOpen,
                                std::function<void()> runDemo);

}  // namespace lockstep::ui
