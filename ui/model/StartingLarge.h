#pragma once

#include <QString>
#include <string>

#include "engine/base/StartingLarge.h"

namespace lockstep::ui {

/// A clause of the engine's as a sentence of the studio begins.
inline QString startingLarge(const std::string& clause) {
  return QString::fromStdString(base::startingLarge(clause));
}

}  // namespace lockstep::ui
