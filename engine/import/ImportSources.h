#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/base/Result.h"
#include "engine/import/KinetoTrace.h"

namespace lockstep::imports {

inline constexpr int kMostRanks = 1 << 20;

struct Source {
  std::filesystem::path path;
  FileKind kind{};
};

struct Sources {
  std::vector<Source> files;
  std::size_t leftOut = 0;  ///< of folders: neither traces nor dumps nor logs
};

/// The files of the paths, in the order of their names within a folder. Errors: nothing to read, a
/// path that is neither (kBadInput).
base::Result<Sources> sourcesOf(const std::vector<std::filesystem::path>& paths);

/// "rank3", "rank_3", "worker-3", or a number at the end, "fr_3.json": as people, PyTorch's
/// handlers and its Flight Recorder name files.
std::optional<int> rankInName(const std::filesystem::path& path);

}  // namespace lockstep::imports
