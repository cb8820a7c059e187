#include "ui/canvas/Renderer.h"

#include <QGuiApplication>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFunctions>

namespace lockstep::ui {
namespace {

GlProbe probe() {
  GlProbe result;
  // These platforms have no screen and draw into memory alone.
  if (QGuiApplication::platformName() == QLatin1String("offscreen") ||
      QGuiApplication::platformName() == QLatin1String("minimal")) {
    result.device = QStringLiteral("no display");
    return result;
  }
  QOffscreenSurface surface;
  surface.create();
  QOpenGLContext context;
  if (!surface.isValid() || !context.create() || !context.makeCurrent(&surface)) {
    result.device = QStringLiteral("no OpenGL");
    return result;
  }
  const auto* device = context.functions()->glGetString(GL_RENDERER);
  result.device = device != nullptr ? QString::fromLatin1(reinterpret_cast<const char*>(device))
                                    : QStringLiteral("unnamed device");
  const QSurfaceFormat format = context.format();
  // Dear ImGui's back end is built for desktop GL.
  result.usable = !context.isOpenGLES() && format.version() >= qMakePair(3, 2);
  // Names of renderers that draw on the processor, as GL_RENDERER gives them.
  for (const char* software : {"llvmpipe", "softpipe", "swrast", "Software", "SWR"}) {
    result.software = result.software || result.device.contains(QLatin1String(software));
  }
  context.doneCurrent();
  return result;
}

QString firstWord(const QString& device) { return device.section(QLatin1Char(' '), 0, 0); }

}  // namespace

const GlProbe& probeGl() {
  static const GlProbe kProbe = probe();
  return kProbe;
}

RendererChoice chooseRenderer(const QString& wish, const GlProbe& gl) {
  if (wish == QLatin1String("raster")) {
    return {Renderer::kRaster, QStringLiteral("it was asked for")};
  }
  if (!gl.usable) {
    return {Renderer::kRaster, QStringLiteral("OpenGL 3.2 is missing (%1)").arg(gl.device)};
  }
  if (gl.software && wish != QLatin1String("gl")) {
    return {Renderer::kRaster,
            QStringLiteral("no graphics card was found (%1)").arg(firstWord(gl.device))};
  }
  return {Renderer::kGl, gl.device};
}

RendererChoice chooseRenderer(const QString& setting) {
  const QString environment = qEnvironmentVariable("LOCKSTEP_RENDERER");
  const QString wish = (environment.isEmpty() ? setting : environment).trimmed().toLower();
  // A probe takes a while (it makes a context), so a wish for raster is answered without.
  return wish == QLatin1String("raster") ? chooseRenderer(wish, GlProbe{})
                                         : chooseRenderer(wish, probeGl());
}

}  // namespace lockstep::ui
