#pragma once

#include "ui/canvas/CanvasInput.h"

namespace lockstep::ui {

// What a key does to the visible length, in every view, and what a notch of the wheel does.
inline constexpr double kZoomStep = 0.7;
inline constexpr double kPanStep = 0.15;
inline constexpr double kZoomANotch = 0.8;
inline constexpr double kPanANotch = 0.12;

inline constexpr double kDragFrom = 4;  ///< px that tell a drag from a click

/// Whether a button is one that moves what is shown.
inline bool pans(const PointerInput& input) {
  return input.button == Qt::RightButton || input.button == Qt::MiddleButton;
}

}  // namespace lockstep::ui
