#include <cstdio>
#include <cstring>
#include <string>

#include "engine/base/ExitCodes.h"
#include "engine/plugin/PluginLibrary.h"
#include "engine/plugin/PluginScan.h"

// lockstep-hookscan FILE: opens a library of communication hooks, makes each hook for one rank, and
// prints what they say of themselves as JSON. A process of its own, since that runs code that may
// crash, hang or print.
int main(int argc, char** argv) {
  using lockstep::base::ExitCode;
  if (argc != 2 || std::strcmp(argv[1], "--help") == 0) {
    std::fprintf(argc == 2 ? stdout : stderr,
                 "usage: lockstep-hookscan FILE\n"
                 "Prints what a library of communication hooks says of itself, as JSON.\n");
    return static_cast<int>(argc == 2 ? ExitCode::kOk : ExitCode::kBadInput);
  }
  const auto library = lockstep::plugin::PluginLibrary::open(argv[1]);
  if (!library.ok()) {
    std::fprintf(stderr, "lockstep-hookscan: %s\n", library.error().message().c_str());
    return static_cast<int>(library.error().code);
  }
  // Before each hook is made, since its code may end this process: the last line then says which it
  // was (PluginScan.h).
  const auto info = library.value()->probed([](const std::string& id) {
    std::fprintf(stderr, "%s'%s'\n", lockstep::plugin::kMakingHook, id.c_str());
  });
  const std::string json = lockstep::plugin::toJson(info);
  // All at the end: half an answer, of a process that crashed, would be taken for one.
  if (std::printf("%s\n", json.c_str()) < 0 || std::fflush(stdout) != 0) {
    std::fprintf(stderr, "lockstep-hookscan: standard output cannot be written\n");
    return static_cast<int>(ExitCode::kEnvironment);
  }
  return static_cast<int>(ExitCode::kOk);
}
