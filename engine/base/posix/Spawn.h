#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::posix {

/// A program to start and what it finds there.
struct SpawnOptions {
  enum class Leads { kProcessGroup, kSession };

  std::filesystem::path program;         ///< without a slash: looked for in PATH
  std::vector<std::string> arguments;    ///< after the program's name
  std::vector<std::string> environment;  ///< "KEY=value", all there are
  int output = -1;                       ///< its stdout; it stays the caller's, as do the others
  int errors = -1;                       ///< its stderr
  /// What the child finds open from descriptor 3 on, in this order.
  std::vector<int> descriptors{};
  std::filesystem::path folder{};  ///< empty: the caller's
  /// A process group of its own is what a terminal's Ctrl-C does not reach; a session of its own
  /// is what the end of that terminal does not reach either.
  Leads leads = Leads::kProcessGroup;
};

/// Starts a program, by posix_spawn. Its stdin is /dev/null, no signal is blocked or ignored in it,
/// and every descriptor but those named is closed. The kernel's parent-death signal follows the
/// thread that calls this. Returns its pid, or -1, and errno says why. [any-thread]
pid_t spawn(const SpawnOptions& options);

}  // namespace lockstep::posix
