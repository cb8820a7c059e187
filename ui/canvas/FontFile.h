#pragma once

#include <QByteArray>
#include <QFont>

namespace lockstep::ui {

/// Returns the bytes of a TrueType file with the outlines that `font` is drawn with, put
/// together from the tables Qt gives out; empty when the font is not scalable. Dear ImGui bakes
/// its atlas from it, so that both back ends write in one face.
QByteArray fontFile(const QFont& font);

}  // namespace lockstep::ui
