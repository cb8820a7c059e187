#include "ui/canvas/Canvas.h"

#include <QPainter>
#include <QResizeEvent>
#include <cmath>

#include "ui/canvas/PainterBackend.h"
#include "ui/canvas/Surfaces.h"

namespace lockstep::ui {
namespace {

// A docked GL surface without a least size collapses and is never painted.
constexpr QSize kLeastSize(120, 60);

class NoClient : public CanvasClient {
 public:
  void paintCanvas(DisplayList&, QSizeF) override {}
};

}  // namespace

Canvas::Canvas(CanvasClient* client, QWidget* parent, RendererChoice choice)
    : QWidget(parent), client_(client), clientHere_(client->here_), choice_(std::move(choice)) {
  setMinimumSize(kLeastSize);
  makeSurface();
}

Canvas::~Canvas() {
  delete surface_;
}

void Canvas::makeSurface() {
  delete surface_;
  if (choice_.renderer == Renderer::kGl) {
    surface_ = new GlSurface(this);
  } else {
    surface_ = new RasterSurface(this);
  }
  surface_->setGeometry(rect());
  surface_->setVisible(true);
}

void Canvas::fallBack(const QString& reason) {
  // A surface that cannot set up GL asks for this once, from its own event
  // (GlSurface::initializeGL); raster needs nothing that could be missing, so there is no further
  // fall.
  if (choice_.renderer == Renderer::kGl) {
    choice_ = {Renderer::kRaster, reason};
    makeSurface();
  }
}

CanvasClient& Canvas::client() const {
  // A client is often the widget that holds the canvas, and a widget's own part is gone before its
  // children are: events may still arrive here between the two.
  static NoClient nobody;
  return clientHere_.expired() ? nobody : *client_;
}

void Canvas::repaintSoon() {
  surface_->update();
}

QString Canvas::rendererName() const {
  return (choice_.renderer == Renderer::kGl ? tr("the graphics card (%1)")
                                            : tr("the processor: %1"))
      .arg(choice_.reason);
}

QImage Canvas::grabImage(double scale) {
  const QSizeF pixels = QSizeF(size()) * scale;
  QImage image(static_cast<int>(std::lround(pixels.width())),
               static_cast<int>(std::lround(pixels.height())), QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  // Always by the raster back end: a grab is the same picture on every machine.
  DisplayList list;
  client().paintCanvas(list, size());
  QPainter painter(&image);
  painter.scale(scale, scale);
  paint(list, painter);
  return image;
}

void Canvas::resizeEvent(QResizeEvent* event) {
  surface_->setGeometry(rect());
  QWidget::resizeEvent(event);
}

}  // namespace lockstep::ui
