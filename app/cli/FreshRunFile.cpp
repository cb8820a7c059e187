#include "app/cli/FreshRunFile.h"

#include <fmt/format.h>

#include <cctype>
#include <ctime>

namespace lockstep::cli {

std::string utcStamp() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &utc);
  return stamp;
}

std::filesystem::path freshRunFile(const std::string& name, const std::string& part) {
  std::string stem;
  for (const char c : name) {
    // A name is free text; a file's name with blanks, slashes or stars in it is a nuisance in every
    // shell.
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    stem += plain ? c : '-';
  }
  if (!part.empty()) {
    stem += '-' + part;
  }
  return fmt::format("runs/{}-{}.lockstep", stem, utcStamp());
}

}  // namespace lockstep::cli
