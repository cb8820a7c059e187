// What mpirun starts in MpiTest.cpp: a role, or tests of backends/ with this process as a rank.

#include <gmock/gmock.h>

#include <cstdio>

#include "tests/engine/process_group/GroupThreads.h"
#include "tests/engine/process_group/mpi/RankGroup.h"
#include "tests/support/ChildRole.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  if (const auto code = support::runChildRole(argc, argv)) {
    return *code;
  }
  testing::InitGoogleMock(&argc, argv);
  // MPI starts once every process has come, those too that the first test leaves out.
  process_group::GroupOptions options = process_group::quickOptions();
  options.groupName = "all";
  const auto all = process_group::processGroup(options);
  const int code = RUN_ALL_TESTS();
  if (code == 0) {
    all->barrier()->wait();
    std::printf("rank %d: all tests passed\n", process_group::processRank());
  }
  return code;
}
