#pragma once

#include <array>

#include "ui/canvas/DisplayList.h"

struct ImDrawList;
struct ImFont;

namespace lockstep::ui {

/// The baked fonts of an atlas, by role, and the factor that makes their pixels logical ones.
struct ImGuiFonts {
  std::array<ImFont*, kFontRoles> fonts{};
  float scale = 1;
};

/// Appends a display list to `out`, whose coordinates are logical pixels. The ImGui context
/// that `out` belongs to is current. [ui-thread]
void paint(const DisplayList& list, ImDrawList& out, const ImGuiFonts& fonts);

}  // namespace lockstep::ui
