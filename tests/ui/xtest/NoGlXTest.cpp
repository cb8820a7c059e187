// The program where there is no OpenGL, driven from outside.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/ChildProcess.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/shell/Screen.h"
#include "ui/canvas/Palette.h"

namespace lockstep {
namespace {

using namespace tests;

TEST(NoGlXTest, TheProgramStartsDrawsAndTakesTheWheelWithoutOpenGl) {
  const support::TemporaryFolder folder;
  const auto path = folder / "demo.lockstep";
  const base::Status written = ui::test::writeDemoRun(path);
  ASSERT_TRUE(written.ok());
  support::ChildProcess studio(
      {.program = programs().toStdString() + "/lockstep-studio",
       .arguments = {"--runs", (folder / "runs").string(), "--theme", "light", path.string()},
       .environment = {{"QT_XCB_GL_INTEGRATION", "none"},
                       {"LOCKSTEP_RENDERER", "gl"},  // what cannot be had
                       {"XDG_CONFIG_HOME", folder.path().string()}}});
  XTestClient input;
  const std::uint32_t forward =
      ui::Palette::of(ui::Theme::kLight).tone(ui::Tone::kForward).rgb() & 0xFFFFFF;
  const auto bars = [&] { return countPixels(input.screenshot(), forward); };
  ASSERT_TRUE(waitUntil([&] { return input.title().find("finished") != std::string::npos; }))
      << input.title();
  ASSERT_TRUE(waitUntil([&] { return bars() > 500; }));
  keep(input.screenshot(), "no-gl");
  const int before = bars();
  const auto area = input.window();
  ASSERT_TRUE(area.has_value());
  input.wheel(area->x + area->width / 2, area->y + area->height / 2, 4);
  EXPECT_TRUE(waitUntil([&] { return bars() != before; })) << "zoomed";
  studio.kill(SIGTERM);
}

}  // namespace
}  // namespace lockstep
