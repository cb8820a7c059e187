#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "tests/bench/timeline/MadeRun.h"

// make_run FILE SPANS [RANKS]: a run file of that many spans.
int main(int argc, char** argv) {
  lockstep::bench::MadeRunOptions options;
  if (argc >= 3) {
    options.spans = std::strtoull(argv[2], nullptr, 10);
  }
  if (argc >= 4) {
    options.ranks = std::atoi(argv[3]);
  }
  if (argc < 3 || argc > 4 || options.spans == 0 || options.ranks < 1 || options.ranks > 1000) {
    fmt::print(stderr, "usage: make_run FILE SPANS [RANKS]\n");
    return 2;
  }
  const auto written = lockstep::bench::writeMadeRun(argv[1], options);
  if (!written.ok()) {
    fmt::print(stderr, "make_run: {}\n", written.error().message());
    return 1;
  }
  fmt::print("{} spans of {} ranks in {}\n", written.value(), options.ranks, argv[1]);
  return 0;
}
