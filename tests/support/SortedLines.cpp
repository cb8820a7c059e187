#include "tests/support/SortedLines.h"

#include <algorithm>
#include <sstream>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::support {

std::vector<std::string> sortedLines(const std::filesystem::path& path) {
  std::istringstream text(readFile(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace lockstep::support
