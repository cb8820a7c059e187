#pragma once

#include "ui/canvas/Canvas.h"

namespace lockstep::ui {

/// A client of a canvas whose mouse is taken by a `Controller`, which knows no widgets: it has
/// `press`, `move`, `release`, `doubleClick`, `leave` and `wheel`. [ui-thread]
template <typename Base, typename Controller>
class Steered : public Base {
 public:
  using Base::Base;

 protected:
  /// Null while there is nothing to steer.
  [[nodiscard]] virtual Controller* steering() = 0;
  /// The controller has acted.
  virtual void steered() = 0;

  void pointerPressed(const PointerInput& input) override { steer(&Controller::press, input); }
  void pointerMoved(const PointerInput& input) override { steer(&Controller::move, input); }
  void pointerReleased(const PointerInput& input) override { steer(&Controller::release, input); }
  void pointerDoubleClicked(const PointerInput& input) override {
    steer(&Controller::doubleClick, input);
  }
  void pointerLeft() override { steer(&Controller::leave); }
  void wheelTurned(const WheelInput& input) override { steer(&Controller::wheel, input); }

 private:
  template <typename Act, typename... Input>
  void steer(Act act, const Input&... input) {
    if (Controller* controller = steering()) {
      (controller->*act)(input...);
      steered();
    }
  }
};

}  // namespace lockstep::ui
