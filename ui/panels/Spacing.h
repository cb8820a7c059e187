#pragma once

namespace lockstep::ui {

// The rhythm of the window: what stands apart stands a step apart, or half of one where it belongs
// together, or two at the edge of a page. Layouts that name no spacing have these by the style.

inline constexpr int kSpace = 8;
inline constexpr int kHalfSpace = kSpace / 2;
inline constexpr int kTwoSpaces = 2 * kSpace;

}  // namespace lockstep::ui
