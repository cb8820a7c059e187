#pragma once

#include <QString>

namespace lockstep::ui {

enum class Renderer { kRaster, kGl };

/// A renderer and why it was taken.
struct RendererChoice {
  Renderer renderer = Renderer::kRaster;
  QString reason;  ///< name of the GL device, or why GL is not used
};

/// What a trial GL context said.
struct GlProbe {
  bool usable = false;    ///< desktop GL 3.2 or newer
  bool software = false;  ///< drawn by the processor, as llvmpipe does
  QString device;         ///< GL_RENDERER, or what failed
};

/// Makes a GL context off screen and asks it; the answer is kept for the process.
/// Needs a QGuiApplication. [ui-thread]
const GlProbe& probeGl();

/// Chooses: a wish ("gl" or "raster") rules where it can be met; without one, GL is taken where
/// it is hardware, since raster is faster than GL drawn by the processor.
RendererChoice chooseRenderer(const QString& wish, const GlProbe& probe);

/// The same with the wish from LOCKSTEP_RENDERER, else from `setting`; probes GL only when the
/// answer hangs on it.
RendererChoice chooseRenderer(const QString& setting = QString());

}  // namespace lockstep::ui
