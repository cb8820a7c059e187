#include "app/cli/RunItself.h"

#include <filesystem>
#include <system_error>

namespace lockstep::cli {

base::Status refuseRunItself(const std::string& run, const std::string& file) {
  std::error_code ignored;
  // Not by name: a link, or a path that leads elsewhere first, may be the same file.
  if (std::filesystem::equivalent(run, file, ignored)) {
    return base::Error{base::ExitCode::kBadInput, "is the run file itself; name another file",
                       file};
  }
  return {};
}

}  // namespace lockstep::cli
