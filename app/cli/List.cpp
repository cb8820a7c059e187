#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "engine/base/ShippedFiles.h"
#include "engine/base/Try.h"
#include "engine/experiment/Listing.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the experiments that came with this program.
std::optional<fs::path> shippedExperiments() {
  for (const fs::path& place : base::shippedPlaces("experiments", "experiments")) {
    if (std::error_code ignored; fs::is_directory(place, ignored)) {
      return place;
    }
  }
  return std::nullopt;
}

base::Result<int> list(const std::string& folder) {
  fs::path where = folder;
  if (folder.empty()) {
    const auto shipped = shippedExperiments();
    if (!shipped) {
      return base::Error{base::ExitCode::kBadInput,
                         "no experiments stand near this program; name a folder: "
                         "lockstep list FOLDER",
                         ""};
    }
    // Shown as the user would type it: from here on, unless the way up and down again is longer.
    std::error_code error;
    where = fs::proximate(*shipped, error);
    if (where.native().size() > shipped->native().size()) {
      where = *shipped;
    }
  }
  const auto listed = LOCKSTEP_TRY(experiment::listExperiments(where));
  std::size_t width = 0;
  for (const auto& entry : listed) {
    width = std::max(width, entry.path.string().size());
  }
  int exitCode = 0;
  for (const auto& entry : listed) {
    if (entry.mistakes.empty()) {
      printPlain(fmt::format("{:<{}}  {}\n", entry.path.string(), width,
                             entry.shows.empty() ? entry.name : entry.shows));
    } else {
      // Mistakes go to stderr: without this they would come before files that stand above them.
      std::fflush(stdout);
      exitCode = fail(entry.mistakes);
    }
  }
  if (listed.empty()) {
    fmt::print("no experiments (*.toml) in {}\n", where.string());
  }
  return exitCode;
}

}  // namespace

void addList(CLI::App& app, Command& chosen) {
  auto [command, folder] =
      addCommand(app, chosen, "list", "List the experiments in a folder and what each shows", list);
  command->add_option("FOLDER", *folder, "Folder to look in; default: those that are shipped");
}

}  // namespace lockstep::cli
