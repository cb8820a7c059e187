#include "engine/import/ImportSources.h"

#include <algorithm>
#include <regex>
#include <string>
#include <system_error>

#include "engine/base/Try.h"

namespace lockstep::imports {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ExitCode;

constexpr std::size_t kMostFiles = 100'000;

}  // namespace

base::Result<Sources> sourcesOf(const std::vector<fs::path>& paths) {
  Sources sources;
  for (const fs::path& path : paths) {
    std::error_code code;
    if (!fs::is_directory(path, code)) {
      const auto kind = LOCKSTEP_TRY(kindOf(path));
      if (kind == FileKind::kUnknown) {
        return Error{ExitCode::kBadInput,
                     "is neither a trace of torch.profiler nor a dump of a Flight Recorder nor a "
                     "log of an NCCL Inspector",
                     path.string()};
      }
      sources.files.push_back({path, kind});
      continue;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code)) {
      if (at->is_regular_file(code) && inside.size() < kMostFiles) {
        inside.push_back(at->path());
      }
    }
    if (code) {
      return Error{ExitCode::kBadInput, "the folder cannot be read: " + code.message(),
                   path.string()};
    }
    std::sort(inside.begin(), inside.end());
    const std::size_t before = sources.files.size();
    for (const fs::path& file : inside) {
      const auto kind = LOCKSTEP_TRY(kindOf(file));
      if (kind == FileKind::kUnknown) {
        ++sources.leftOut;
      } else {
        sources.files.push_back({file, kind});
      }
    }
    if (sources.files.size() == before) {
      return Error{ExitCode::kBadInput,
                   "the folder holds no traces of torch.profiler, dumps of a Flight Recorder or "
                   "logs of an NCCL Inspector",
                   path.string()};
    }
  }
  if (sources.files.empty()) {
    return Error{ExitCode::kBadInput, "needs at least one file or folder", "import"};
  }
  return sources;
}

std::optional<int> rankInName(const fs::path& path) {
  static const std::regex kRank("(?:rank|worker)[-_.]?([0-9]{1,7})", std::regex::icase);
  // At most five digits: longer ones are the time of day that PyTorch's handler puts into names.
  static const std::regex kEnd("[-_.]([0-9]{1,5})(?:[.][a-z.]*)?$", std::regex::icase);
  const std::string name = path.filename().string();
  std::optional<int> rank;
  for (std::sregex_iterator at(name.begin(), name.end(), kRank), end; at != end; ++at) {
    // The last one in the name: "worker_1_rank_3.json" is rank 3.
    rank = std::stoi((*at)[1].str());
  }
  if (std::smatch found; !rank && std::regex_search(name, found, kEnd)) {
    rank = std::stoi(found[1].str());
  }
  return rank && *rank < kMostRanks ? rank : std::nullopt;
}

}  // namespace lockstep::imports
