#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "engine/base/posix/Descriptor.h"

namespace lockstep::posix {

/// Writes all of `data`. The system may take a part of it, as where a disk fills up, and says why
/// only when it is asked for the rest. False: errno says why.
[[nodiscard]] inline bool writeAll(const Descriptor& file, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(file.get(), data.data(), data.size());
    if (written >= 0) {
      data.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace lockstep::posix
