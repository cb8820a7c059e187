#include "engine/plugin/detail/Cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::plugin::detail {

namespace fs = std::filesystem;
using nlohmann::json;

std::string stamp(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) {
    return "";
  }
  // With the border's version: a newer Lockstep may ask for more.
  return fmt::format("{}.{} {} {}.{:09}", LOCKSTEP_ABI_MAJOR, LOCKSTEP_ABI_MINOR, facts.st_size,
                     facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

std::string cacheFile(const std::string& given, const char* name) {
  if (!given.empty()) {
    return given;
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') {
    return fmt::format("{}/lockstep/{}", cache, name);
  }
  return home == nullptr ? std::string() : fmt::format("{}/.cache/lockstep/{}", home, name);
}

json readCache(const std::string& file) {
  std::ifstream in(file);
  json cache = json::parse(in, nullptr, false);
  return cache.is_object() ? cache : json::object();
}

void keepInCache(const std::string& file, const std::string& key, const json& entry) {
  std::error_code ignored;
  fs::create_directories(fs::path(file).parent_path(), ignored);
  json cache = readCache(file);
  cache[key] = entry;
  const std::string draft = fmt::format("{}.{}", file, getpid());
  if (std::ofstream(draft) << cache.dump() << std::flush) {
    fs::rename(draft, file, ignored);
  } else {
    fs::remove(draft, ignored);
  }
}

}  // namespace lockstep::plugin::detail
