#pragma once

#include <QByteArray>
#include <QRawFont>

namespace lockstep::ui {

/// Returns the bytes of a font that is `font` under the name `family`, in which the figures 0 to 9
/// are those that are all equally wide, its feature "tnum"; nothing when it has no such figures.
///
/// So numbers of one column stand under each other wherever the font is used, and both of what
/// draws text has it: Qt before 6.7 cannot ask for a feature of a font, and Dear ImGui never can.
QByteArray withTabularFigures(const QRawFont& font, const QString& family);

}  // namespace lockstep::ui
