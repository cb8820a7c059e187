#pragma once

#include <QImage>
#include <QSizeF>
#include <QString>

#include "engine/base/Result.h"
#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// A drawing of a fixed size, in logical pixels, for an image or a file. It needs no display: a
/// QGuiApplication on the offscreen platform is enough.
struct Picture {
  QString title;  ///< of the document, where the format has one
  QSizeF size;
  DisplayList list;
};

inline constexpr double kPictureHead = 38;

/// Draws the ground of a picture, and on top its title with more about it.
void drawPictureHead(Picture& picture, const QString& more, const Palette& palette);

/// Draws by the raster back end at `scale` pixels a logical pixel. [ui-thread]
QImage renderPicture(const Picture& picture, double scale = 1.0);

/// Does the same into a file, by its ending: .png (at `scale`), .svg or .pdf. [ui-thread]
/// Errors: another ending, a path that cannot be written.
base::Status savePicture(const Picture& picture, const QString& path, double scale = 2.0);

}  // namespace lockstep::ui
