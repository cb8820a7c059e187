#pragma once

#include <QObject>

namespace lockstep::ui {

/// Follows another object, or none, in place of the one before, of which `ear` hears nothing more.
template <typename Held, typename Object>
void follow(Held& held, Object* other, const QObject* ear) {
  if (held != nullptr) {
    held->disconnect(ear);
  }
  held = other;
}

}  // namespace lockstep::ui
