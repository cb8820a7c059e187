#include "ui/canvas/Picture.h"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QGuiApplication>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <cmath>

#include "ui/canvas/PainterBackend.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

base::Error refused(const QString& path, const char* why) {
  return {base::ExitCode::kBadInput, why, path.toStdString()};
}

base::Error cannotWrite(const QString& path) {
  return {base::ExitCode::kEnvironment,
          "the picture cannot be written: check that the folder exists and is writable",
          path.toStdString()};
}

/// Draws into anything that a painter can draw on; false when it cannot be begun or ended.
bool drawOn(QPaintDevice& device, const Picture& picture) {
  QPainter painter;
  if (!painter.begin(&device)) {
    return false;
  }
  paint(picture.list, painter);
  return painter.end();
}

/// Writes a drawing whose text is text: it names the faces that may stand in for ours where the
/// drawing is looked at, and asks for the same figures.
bool writeSvg(QByteArray svg, const QString& path) {
  const QStringList faces = QGuiApplication::font().families();
  if (faces.size() > 1) {
    const QByteArray begin = "font-family=\"";
    svg.replace(begin + faces.front().toUtf8() + '"',
                begin + faces.mid(1).join(QLatin1String(", ")).toUtf8() +
                    ", sans-serif\" style=\"font-variant-numeric: tabular-nums\"");
  }
  QFile out(path);
  return out.open(QIODevice::WriteOnly) && out.write(svg) == svg.size();
}

}  // namespace

void drawPictureHead(Picture& picture, const QString& more, const Palette& palette) {
  DisplayList& list = picture.list;
  list.fill(QRectF(QPointF(0, 0), picture.size), palette.background);
  const double width = textWidth(picture.title, FontRole::kBold);
  list.title(QRectF(12, 0, width + 4, kPictureHead), picture.title, palette);
  list.note(QRectF(12 + width + 16, 0, picture.size.width() - width - 40, kPictureHead), more,
            palette);
}

QImage renderPicture(const Picture& picture, double scale) {
  QImage image(static_cast<int>(std::lround(picture.size.width() * scale)),
               static_cast<int>(std::lround(picture.size.height() * scale)), QImage::Format_RGB32);
  QPainter painter(&image);
  painter.scale(scale, scale);
  paint(picture.list, painter);
  return image;
}

base::Status savePicture(const Picture& picture, const QString& path, double scale) {
  const QString ending = QFileInfo(path).suffix().toLower();
  bool written = false;
  if (ending == QLatin1String("png")) {
    // zlib's level 2: of a large picture half a second less, for a sixth more bytes.
    constexpr int kQuick = 70;
    written = renderPicture(picture, scale).save(path, "PNG", kQuick);
  } else if (ending == QLatin1String("svg")) {
    QByteArray file;
    QBuffer buffer(&file);
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(picture.size.toSize());
    svg.setViewBox(QRectF(QPointF(0, 0), picture.size));
    svg.setTitle(picture.title);
    written = drawOn(svg, picture) && writeSvg(file, path);
  } else if (ending == QLatin1String("pdf")) {
    QPdfWriter pdf(path);
    constexpr int kDotsAnInch = 96;  // one logical pixel a dot
    pdf.setResolution(kDotsAnInch);
    pdf.setPageMargins(QMarginsF());
    // Points are 1/72 inch, dots 1/96: a page of exactly the picture's size.
    pdf.setPageSize(QPageSize(picture.size * 72.0 / kDotsAnInch, QPageSize::Point));
    pdf.setTitle(picture.title);
    written = drawOn(pdf, picture);
  } else {
    return refused(path, "a picture ends in .png, .svg or .pdf");
  }
  return written ? base::Status() : cannotWrite(path);
}

}  // namespace lockstep::ui
