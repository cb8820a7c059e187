#pragma once

#include <QColor>
#include <QIcon>
#include <cstdint>

namespace lockstep::ui {

enum class ReplayIcon : std::uint8_t { kPlay, kPause, kBack, kForward };

/// Draws an icon in a colour, so that it can be seen in every theme. [ui-thread]
QIcon replayIcon(ReplayIcon icon, const QColor& colour);

}  // namespace lockstep::ui
