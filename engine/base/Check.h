#pragma once

#include <fmt/format.h>

#include <string>

namespace lockstep::base {

/// Prints "file:line: check failed: <condition>: <message>" to stderr and aborts.
[[noreturn]] void checkFailed(const char* file, int line, const char* condition,
                              const std::string& message);

}  // namespace lockstep::base

/// Ends the process when `condition` is false: for defects of ours, never for bad input.
/// The message is an fmt format that names the values involved.
#define LOCKSTEP_CHECK(condition, ...)                                                     \
  do {                                                                                     \
    if (!(condition)) [[unlikely]] {                                                       \
      ::lockstep::base::checkFailed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                      \
  } while (false)
