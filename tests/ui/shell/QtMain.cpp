#include <gtest/gtest.h>

#include <QApplication>
#include <cstdlib>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/QtComplaints.h"
#include "tests/ui/shell/Screen.h"
#include "ui/canvas/Typeface.h"
#include "ui/shell/Appearance.h"

// Widgets need an application before the first test and one X server for all of them. A call
// that only lists tests starts neither.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) {
    return RUN_ALL_TESTS();
  }
  const lockstep::support::TemporaryFolder home;  // nobody's settings are read or changed
  setenv("XDG_CONFIG_HOME", home.path().c_str(), 1);
  setenv("XDG_DATA_HOME", home.path().c_str(), 1);
  setenv("XDG_CACHE_HOME", home.path().c_str(), 1);
  unsetenv("LOCKSTEP_HOOKS");
  const lockstep::support::TemporaryFolder sockets;  // of no other use, or it were not private
  setenv("XDG_RUNTIME_DIR", sockets.path().c_str(), 1);
  setenv("LOCKSTEP_RENDERER", "raster", 1);
  const lockstep::tests::XServer server(lockstep::tests::kScreenWidth,
                                        lockstep::tests::kScreenHeight);
  QCoreApplication::setAttribute(Qt::AA_ShareOpenGLContexts);
  QApplication application(argc, argv);
  QApplication::setQuitOnLastWindowClosed(false);
  lockstep::tests::failOnQtComplaints();
  lockstep::ui::useTypeface();
  const lockstep::ui::Appearance appearance;
  return RUN_ALL_TESTS();
}
