#include "engine/base/ShippedFiles.h"

#include <system_error>

namespace lockstep::base {

namespace fs = std::filesystem;

Result<fs::path> programFile() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return Error{ExitCode::kEnvironment,
                 "cannot tell where this program stands: " + error.message(), "/proc/self/exe"};
  }
  return program;
}

fs::path programFolder() {
  const auto program = programFile();
  return program.ok() ? program.value().parent_path() : fs::path();
}

std::vector<fs::path> shippedPlaces(const fs::path& installed, const fs::path& inTree) {
  const fs::path program = programFolder();
  return {
      (program / "../share/lockstep" / installed).lexically_normal(),
      (program / "../.." / inTree).lexically_normal(),     // build/bin
      (program / "../../.." / inTree).lexically_normal(),  // build/PRESET/bin
  };
}

fs::path helperProgram(std::string_view name) {
  const fs::path program = programFolder();
  fs::path installed = (program / "../lib/lockstep" / name).lexically_normal();
  std::error_code ignored;
  return fs::is_regular_file(installed, ignored) ? installed : program / name;
}

}  // namespace lockstep::base
