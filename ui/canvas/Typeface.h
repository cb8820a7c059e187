#pragma once

namespace lockstep::ui {

/// Makes Inter the face of the application, with figures that are all equally wide, where it is
/// installed; without it the desktop's face stays. Widgets and canvases, by Qt and by Dear ImGui,
/// write in the face of the application (`canvasFont`). Call it once, right after the QApplication
/// is made; the size stays the desktop's. [ui-thread]
void useTypeface();

}  // namespace lockstep::ui
