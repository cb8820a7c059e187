#pragma once

#include <QSize>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/export/RankChoice.h"

namespace lockstep::studio {

/// The command line of `lockstep-studio`.
struct Options {
  std::vector<std::string> runs;
  /// What to draw and where: ("timeline", "out.png").
  std::vector<std::pair<std::string, std::string>> pictures;
  QSize pictureSize{1600, 0};  ///< height 0: what the lanes need
  exports::RankChoice ranks;   ///< of pictures
  std::string theme;           ///< "", "system", "light", "dark"
  std::string experiments;
  std::string experiment;
  std::string runsFolder;
  std::string programs;
  bool restore = false;  ///< what was open last, in place of `runs`
  std::string figures;  ///< file of what the studio measures of itself; empty: nothing
};

/// The options, or the exit code of a call that ends here (help, version, a mistake, which has
/// been written to stderr).
std::variant<Options, int> parseOptions(int argc, char** argv, const std::string& version);

}  // namespace lockstep::studio
