#pragma once

#include <QImage>
#include <QSizeF>
#include <QString>
#include <QWidget>
#include <memory>

#include "ui/canvas/CanvasInput.h"
#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Renderer.h"

namespace lockstep::ui {

/// Whoever fills a canvas: draws on request, takes the mouse. [ui-thread]
class CanvasClient {
 public:
  CanvasClient() = default;
  CanvasClient(const CanvasClient&) = delete;
  CanvasClient& operator=(const CanvasClient&) = delete;
  virtual ~CanvasClient() = default;
  /// Fills the empty `list` for a canvas of `size` logical pixels.
  virtual void paintCanvas(DisplayList& list, QSizeF size) = 0;
  /// The list of the last paintCanvas has been drawn.
  virtual void canvasPainted() {}
  virtual void pointerPressed(const PointerInput&) {}
  virtual void pointerMoved(const PointerInput&) {}
  virtual void pointerReleased(const PointerInput&) {}
  virtual void pointerDoubleClicked(const PointerInput&) {}
  virtual void pointerLeft() {}
  virtual void wheelTurned(const WheelInput&) {}
  /// The heading of what is drawn at a point, for the glossary; empty: it has none.
  [[nodiscard]] virtual QString headingAt(QPointF) const { return {}; }

 private:
  friend class Canvas;
  // A client is often the widget around the canvas, and is gone before its children are: by this
  // the canvas knows.
  std::shared_ptr<const void> here_ = std::make_shared<char>();
};

/// A drawing area on GL or raster, whichever `chooseRenderer` says; falls back to raster by
/// itself when GL cannot be set up. Repaints only when asked by `repaintSoon`. [ui-thread]
class Canvas : public QWidget {
  Q_OBJECT

 public:
  /// Of a client that is gone nothing is drawn.
  Canvas(CanvasClient* client, QWidget* parent, RendererChoice choice = chooseRenderer());
  ~Canvas() override;

  /// Asks for a frame; many calls before it give one.
  void repaintSoon();
  [[nodiscard]] Renderer renderer() const { return choice_.renderer; }
  /// "the graphics card (NVIDIA H200)" or "the processor: no graphics card was found (llvmpipe)".
  [[nodiscard]] QString rendererName() const;
  [[nodiscard]] CanvasClient& client() const;
  /// Draws the client into an image by the raster back end, at `scale` pixels a logical pixel.
  [[nodiscard]] QImage grabImage(double scale = 1.0);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  friend class GlSurface;  // falls back

  void makeSurface();
  void fallBack(const QString& reason);

  CanvasClient* client_;
  std::weak_ptr<const void> clientHere_;
  RendererChoice choice_;
  QWidget* surface_ = nullptr;
};

}  // namespace lockstep::ui
