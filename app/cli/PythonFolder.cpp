#include "app/cli/PythonFolder.h"

#include <system_error>
#include <vector>

#include "engine/base/ShippedFiles.h"

namespace lockstep::cli {

namespace fs = std::filesystem;

base::Result<std::filesystem::path> pythonFolder() {
  std::error_code error;
  // Last, as a build folder has it, beside the programs' folder: one part of it is compiled.
  const std::vector<fs::path> places{base::shippedPlaces("python", "").front(),
                                     base::programFolder().parent_path() / "python"};
  for (const fs::path& folder : places) {
    if (fs::is_regular_file(folder / "lockstep" / "__init__.py", error)) {
      return folder;
    }
  }
  return base::Error{base::ExitCode::kEnvironment,
               "this build has no Python package, which takes Python's headers; install "
               "libpython3-dev and build again",
               places.back().string()};
}

}  // namespace lockstep::cli
