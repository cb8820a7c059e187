#include "engine/base/Check.h"

#include <cstdio>
#include <cstdlib>

namespace lockstep::base {

void checkFailed(const char* file, int line, const char* condition, const std::string& message) {
  fmt::print(stderr, "{}:{}: check failed: {}: {}\n", file, line, condition, message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace lockstep::base
