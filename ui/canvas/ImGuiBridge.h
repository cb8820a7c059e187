#pragma once

#include <QFont>
#include <QSizeF>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/ImGuiBackend.h"

struct ImGuiContext;

namespace lockstep::ui {

/// One Dear ImGui context and its GL objects: turns display lists into frames. The canvases'
/// own widgets take the mouse and the keys, so ImGui sees no input. Every member but the
/// constructor needs the canvas's GL context current. [ui-thread]
class ImGuiBridge {
 public:
  ImGuiBridge();
  ~ImGuiBridge();
  ImGuiBridge(const ImGuiBridge&) = delete;
  ImGuiBridge& operator=(const ImGuiBridge&) = delete;

  /// Sets the GL objects up; false when the GL functions cannot be loaded.
  bool initialize();
  /// Frees the GL objects; `initialize` may come again.
  void shutDown();
  [[nodiscard]] bool ready() const { return ready_; }

  /// Draws one frame into the bound framebuffer.
  void render(const DisplayList& list, QSizeF logicalSize, double devicePixelRatio);

 private:
  void bakeFonts(double devicePixelRatio);

  ImGuiContext* context_;
  ImGuiFonts fonts_;
  double bakedRatio_ = 0;
  QFont bakedFont_;
  bool ready_ = false;
};

}  // namespace lockstep::ui
