#include "engine/train/Resources.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/ShippedFiles.h"

namespace lockstep::train {

namespace fs = std::filesystem;

base::Result<fs::path> resourcePath(const fs::path& name) {
  std::vector<std::string> folders;
  if (const char* set = std::getenv("LOCKSTEP_RESOURCES"); set != nullptr && *set != '\0') {
    folders.push_back(set);
  } else {
    for (const fs::path& place : base::shippedPlaces("", "resources")) {
      folders.push_back(place.string());
    }
  }
  for (const auto& folder : folders) {
    if (std::error_code ignored; fs::exists(fs::path(folder) / name, ignored)) {
      return fs::path(folder) / name;
    }
  }
  return base::Error{base::ExitCode::kEnvironment,
                     fmt::format("a shipped resource is missing; looked in {}; set "
                                 "LOCKSTEP_RESOURCES to the folder `resources`",
                                 fmt::join(folders, ", ")),
                     name.string()};
}

}  // namespace lockstep::train
