// make_golden_run PATH writes the run file that becomes the golden file of a new format
// version.

#include <cstdio>

#include "tests/golden/GoldenRun.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden_run PATH\n");
    return 2;
  }
  const auto status = lockstep::trace::writeGoldenRun(argv[1]);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
    return 1;
  }
  return 0;
}
