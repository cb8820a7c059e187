#pragma once

#include <QString>

namespace lockstep::ui {

class RunModel;

/// What a run is called at the head of pictures and windows: its name, else that of its file.
/// [ui-thread]
QString titleOfRun(const RunModel& model);

}  // namespace lockstep::ui
