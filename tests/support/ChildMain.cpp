#include <gmock/gmock.h>

#include "tests/support/ChildRole.h"

int main(int argc, char** argv) {
  if (const auto code = lockstep::support::runChildRole(argc, argv)) {
    return *code;
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
