#pragma once

#include "app/studio/Options.h"

namespace lockstep::studio {

/// Draws the asked-for pictures of one run and returns the exit code; what went wrong has been
/// written to stderr. Needs a QGuiApplication, no display.
int drawPictures(const Options& options);

}  // namespace lockstep::studio
