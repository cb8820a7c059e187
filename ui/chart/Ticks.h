#pragma once

#include <QString>
#include <vector>

#include "engine/base/Scale.h"

namespace lockstep::ui {

using base::roundStep;
using base::Scale;

/// A value of an axis with the decimals that tell it from its neighbours `step` away: "20,000";
/// from ten million on with an exponent: "5e+34".
QString tickText(double value, double step);

}  // namespace lockstep::ui
