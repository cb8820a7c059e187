#pragma once

#include <QColor>

#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// The colour of a value in a map of many, 0 the least and 1 the most: equal steps look equal, also
/// to people with a colour vision deficiency (dark: cividis, Nuñez et al. 2018; light: ColorBrewer's
/// Blues, Harrower and Brewer 2003). The most stands out from the theme's background, the least is
/// near to it. [any-thread]
QColor heatColour(double part, Theme theme);

}  // namespace lockstep::ui
