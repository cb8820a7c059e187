#pragma once

#include <QOpenGLWidget>
#include <QWidget>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/ImGuiBridge.h"

namespace lockstep::ui {

class Canvas;

/// The part of a canvas that shows pixels; hands the mouse to its canvas as plain structs.
/// `Base` is QWidget or QOpenGLWidget.
template <typename Base>
class SurfaceInput : public Base {
 public:
  explicit SurfaceInput(Canvas* canvas);

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;

  Canvas* canvas_;
};

/// Draws by QPainter.
class RasterSurface : public SurfaceInput<QWidget> {
 public:
  explicit RasterSurface(Canvas* canvas);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  DisplayList list_;
};

/// Draws by ImGui on GL. The GL context may be lost and made anew, as when a dock floats.
class GlSurface : public SurfaceInput<QOpenGLWidget> {
 public:
  explicit GlSurface(Canvas* canvas);
  ~GlSurface() override;

 protected:
  void initializeGL() override;
  void paintGL() override;

 private:
  void releaseGl();

  DisplayList list_;
  ImGuiBridge bridge_;
  QMetaObject::Connection contextEnd_;
};

}  // namespace lockstep::ui
