#pragma once

#include <QPointF>
#include <Qt>
#include <cmath>

namespace lockstep::ui {

/// What the mouse did, whichever surface it happened on; positions in logical pixels.
struct PointerInput {
  QPointF position;
  Qt::MouseButton button = Qt::NoButton;  ///< that changed; none for a move
  Qt::MouseButtons buttons;               ///< that are down
  Qt::KeyboardModifiers modifiers;
};

/// A turn of the wheel or a two-finger scroll.
struct WheelInput {
  QPointF position;
  double stepsX = 0;  ///< notches to the right
  double stepsY = 0;  ///< notches away from the user
  Qt::KeyboardModifiers modifiers;

  /// Notches of a wheel that turns one way at a time: away from the user, or to the left.
  [[nodiscard]] double steps() const { return stepsY != 0 ? stepsY : -stepsX; }
  /// Whether it is meant sideways.
  [[nodiscard]] bool sideways() const {
    return modifiers.testFlag(Qt::ShiftModifier) || std::abs(stepsX) > std::abs(stepsY);
  }
};

}  // namespace lockstep::ui
