#include "engine/experiment/Listing.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace lockstep::experiment {

namespace fs = std::filesystem;

std::string lookForOf(std::string_view text) {
  std::string found;
  bool inParagraph = false;
  while (text.starts_with('#')) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(1, end - 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
    for (const std::string_view mark : {"Look for: ", "Expected: "}) {
      if (!inParagraph && found.empty() && line.starts_with(mark)) {
        line.remove_prefix(mark.size());
        inParagraph = true;
      }
    }
    inParagraph = inParagraph && !line.empty();
    if (inParagraph) {
      found += (found.empty() ? "" : " ") + std::string(line);
    }
  }
  return found;
}

ListedExperiment listExperiment(const fs::path& path) {
  ParseOutcome outcome = parseFile(path);
  ListedExperiment listed;
  listed.path = path;
  const bool named = outcome.experiment.name != Experiment{}.name;
  listed.name = named ? outcome.experiment.name : path.stem().string();
  listed.shows = std::move(outcome.experiment.shows);
  listed.mistakes = std::move(outcome.mistakes);
  // A file that cannot be read is one of the mistakes.
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();  // an iterator would throw, as for a folder
  listed.lookFor = lookForOf(text.str());
  return listed;
}

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
    list.push_back(listExperiment(path));
  }
  return list;
}

}  // namespace lockstep::experiment
