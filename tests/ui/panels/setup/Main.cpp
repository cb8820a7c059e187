#include <gtest/gtest.h>

#include <QApplication>
#include <cstdlib>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/QtComplaints.h"
#include "tests/ui/shell/Screen.h"

// Widgets need an application before the first test and one X server for all of them. A call
// that only lists tests starts neither.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) {
    return RUN_ALL_TESTS();
  }
  const lockstep::support::TemporaryFolder home;  // nobody's settings and plugins are read
  setenv("XDG_CONFIG_HOME", home.path().c_str(), 1);
  setenv("XDG_DATA_HOME", home.path().c_str(), 1);
  setenv("XDG_CACHE_HOME", home.path().c_str(), 1);
  const lockstep::tests::XServer server(lockstep::tests::kScreenWidth,
                                        lockstep::tests::kScreenHeight);
  QApplication application(argc, argv);
  QApplication::setQuitOnLastWindowClosed(false);
  lockstep::tests::failOnQtComplaints();
  return RUN_ALL_TESTS();
}
