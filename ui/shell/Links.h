#pragma once

namespace lockstep::ui {

class CurrentRun;
struct Frame;

/// Leads from one part of the window to another, wherever a click says so: a row of events to its
/// span in the timeline, a problem to its iteration, a hook to the setup form. Both live as long as
/// the window. [ui-thread]
void linkParts(Frame& frame, CurrentRun& run);

}  // namespace lockstep::ui
