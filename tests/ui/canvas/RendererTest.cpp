#include "ui/canvas/Renderer.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

const GlProbe kHardware{true, false, "NVIDIA H200"};
const GlProbe kSoftware{true, true, "llvmpipe (LLVM 15.0.6, 256 bits)"};
const GlProbe kNone{false, false, "no OpenGL"};

TEST(ChooseRenderer, TakesGlWhereItIsHardware) {
  const RendererChoice choice = chooseRenderer({}, kHardware);
  EXPECT_EQ(choice.renderer, Renderer::kGl);
  EXPECT_EQ(choice.reason, "NVIDIA H200");
}

TEST(ChooseRenderer, TakesRasterWhereGlIsSoftwareAndSaysWhy) {
  const RendererChoice choice = chooseRenderer({}, kSoftware);
  EXPECT_EQ(choice.renderer, Renderer::kRaster);
  EXPECT_TRUE(choice.reason.contains("llvmpipe"));
}

TEST(ChooseRenderer, ObeysAWishWhereItCanBeMet) {
  EXPECT_EQ(chooseRenderer("gl", kSoftware).renderer, Renderer::kGl);
  EXPECT_EQ(chooseRenderer("raster", kHardware).renderer, Renderer::kRaster);
}

TEST(ChooseRenderer, FallsBackToRasterWithoutGlThoughAskedForIt) {
  const RendererChoice choice = chooseRenderer("gl", kNone);
  EXPECT_EQ(choice.renderer, Renderer::kRaster);
  EXPECT_TRUE(choice.reason.contains("no OpenGL"));
}

TEST(ChooseRenderer, LetsTheEnvironmentOverruleTheSetting) {
  qputenv("LOCKSTEP_RENDERER", "raster");
  EXPECT_EQ(chooseRenderer(QStringLiteral("gl")).renderer, Renderer::kRaster);
  qunsetenv("LOCKSTEP_RENDERER");
}

}  // namespace
}  // namespace lockstep::ui
