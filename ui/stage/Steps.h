#pragma once

namespace lockstep::ui {

// What a key does to the visible length, in every view.
inline constexpr double kZoomStep = 0.7;
inline constexpr double kPanStep = 0.15;

}  // namespace lockstep::ui
