#include "ui/canvas/Surfaces.h"

#include <QMouseEvent>
#include <QOpenGLContext>
#include <QOpenGLFunctions>
#include <QPainter>
#include <QTimer>
#include <QWheelEvent>

#include "ui/canvas/Canvas.h"
#include "ui/canvas/PainterBackend.h"

namespace lockstep::ui {
namespace {

constexpr double kDegreesEighthsANotch = 120;
constexpr double kPixelsANotch = 60;  // of a touch pad

PointerInput pointerOf(const QMouseEvent& event) {
  return {event.position(), event.button(), event.buttons(), event.modifiers()};
}

WheelInput wheelOf(const QWheelEvent& event) {
  WheelInput input;
  input.position = event.position();
  input.modifiers = event.modifiers();
  // A touch pad tells pixels, a wheel eighths of a degree, 15 degrees a notch.
  const bool pixels = !event.pixelDelta().isNull();
  const QPoint delta = pixels ? event.pixelDelta() : event.angleDelta();
  const double notch = pixels ? kPixelsANotch : kDegreesEighthsANotch;
  // Qt counts to the left, views to the right.
  input.stepsX = -delta.x() / notch;
  input.stepsY = delta.y() / notch;
  return input;
}

}  // namespace

template <typename Base>
SurfaceInput<Base>::SurfaceInput(Canvas* canvas) : Base(canvas), canvas_(canvas) {
  this->setMouseTracking(true);
}

template <typename Base>
void SurfaceInput<Base>::mousePressEvent(QMouseEvent* event) {
  canvas_->client().pointerPressed(pointerOf(*event));
}

template <typename Base>
void SurfaceInput<Base>::mouseMoveEvent(QMouseEvent* event) {
  canvas_->client().pointerMoved(pointerOf(*event));
}

template <typename Base>
void SurfaceInput<Base>::mouseReleaseEvent(QMouseEvent* event) {
  canvas_->client().pointerReleased(pointerOf(*event));
}

template <typename Base>
void SurfaceInput<Base>::mouseDoubleClickEvent(QMouseEvent* event) {
  canvas_->client().pointerDoubleClicked(pointerOf(*event));
}

template <typename Base>
void SurfaceInput<Base>::wheelEvent(QWheelEvent* event) {
  canvas_->client().wheelTurned(wheelOf(*event));
  event->accept();
}

template <typename Base>
void SurfaceInput<Base>::leaveEvent(QEvent* event) {
  canvas_->client().pointerLeft();
  Base::leaveEvent(event);
}

RasterSurface::RasterSurface(Canvas* canvas) : SurfaceInput(canvas) {
  // Each frame covers all of it, so Qt need not fill the ground first.
  setAttribute(Qt::WA_OpaquePaintEvent);
}

void RasterSurface::paintEvent(QPaintEvent*) {
  list_.clear();
  canvas_->client().paintCanvas(list_, size());
  QPainter painter(this);
  paint(list_, painter);
  painter.end();
  canvas_->client().canvasPainted();
}

GlSurface::GlSurface(Canvas* canvas) : SurfaceInput(canvas) {}

GlSurface::~GlSurface() { releaseGl(); }

void GlSurface::releaseGl() {
  disconnect(contextEnd_);
  if (bridge_.ready()) {
    // GL objects can be freed only while the context that has them is current.
    makeCurrent();
    bridge_.shutDown();
    doneCurrent();
  }
}

void GlSurface::initializeGL() {
  const bool desktop = !context()->isOpenGLES();
  if (!desktop || !bridge_.initialize()) {
    Canvas* canvas = canvas_;
    // Not from here: falling back deletes this surface.
    QTimer::singleShot(0, canvas, [canvas, desktop] {
      canvas->fallBack(desktop ? QStringLiteral("the GL functions could not be loaded")
                               : QStringLiteral("only OpenGL ES is here"));
    });
    return;
  }
  disconnect(contextEnd_);
  // Docking or floating moves the widget to another window, which ends this context and makes
  // another; initializeGL then comes again.
  contextEnd_ = connect(context(), &QOpenGLContext::aboutToBeDestroyed, this,
                        [this] { releaseGl(); });
}

void GlSurface::paintGL() {
  list_.clear();
  canvas_->client().paintCanvas(list_, size());
  // The framebuffer of the widget is bound and is not number 0.
  auto* gl = context()->functions();
  gl->glClearColor(0, 0, 0, 1);
  gl->glClear(GL_COLOR_BUFFER_BIT);
  bridge_.render(list_, size(), devicePixelRatioF());
  canvas_->client().canvasPainted();
}

template class SurfaceInput<QWidget>;
template class SurfaceInput<QOpenGLWidget>;

}  // namespace lockstep::ui
