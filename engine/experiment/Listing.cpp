#include "engine/experiment/Listing.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace lockstep::experiment {

namespace fs = std::filesystem;

base::Result<std::vector<ListedExperiment>> listExperiments(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    // One file that cannot be asked must not end the list.
    std::error_code ignored;
    if (entry->path().extension() == ".toml" && !entry->is_directory(ignored)) {
      paths.push_back(entry->path());
    }
  }
  if (error) {
    return base::Error{base::ExitCode::kBadInput,
                       "the folder of experiments cannot be read: " + error.message(),
                       folder.string()};
  }
  std::sort(paths.begin(), paths.end());

  std::vector<ListedExperiment> list;
  for (const fs::path& path : paths) {
    ParseOutcome outcome = parseFile(path);
    ListedExperiment listed;
    listed.path = path;
    const bool named = outcome.experiment.name != Experiment{}.name;
    listed.name = named ? outcome.experiment.name : path.stem().string();
    listed.shows = std::move(outcome.experiment.shows);
    listed.mistakes = std::move(outcome.mistakes);
    list.push_back(std::move(listed));
  }
  return list;
}

}  // namespace lockstep::experiment
