#pragma once

#include <QCoreApplication>
#include <QString>

#include "ui/model/Format.h"

/// What the drawings of the Hooks view share: distances in pixels, and how they say things.
namespace lockstep::ui::hook_words {

inline constexpr double kMargin = 12;  ///< between cards and the border
inline constexpr double kGap = 10;     ///< between cards
inline constexpr double kPad = 10;     ///< inside a card
inline constexpr double kLine = 18;    ///< height of a line of small text
inline constexpr double kStrip = 78;   ///< of one curve at least, its title included
inline constexpr double kBar = 18;     ///< height of a bar of phases
inline constexpr double kRowPad = 6;
inline constexpr double kNsPerMs = 1e6;

inline QString tr(const char* text) {
  return QCoreApplication::translate("HooksView", text);
}

}  // namespace lockstep::ui::hook_words
