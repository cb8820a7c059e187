#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::plugin::detail {

// What is known of libraries, in files of the user's cache: a JSON object each, an entry for each
// library by its path, with a stamp. A cache that cannot be read is empty, one that cannot be
// written is not kept.

/// What is known of a library depends on this: "border size mtime"; empty: there is no such file.
std::string stamp(const std::string& path);

/// $XDG_CACHE_HOME/lockstep/NAME, or `given` where that is not empty; empty: there is no home.
std::string cacheFile(const std::string& given, const char* name);

nlohmann::json readCache(const std::string& file);

/// Puts an entry into it, beside what other processes have put there. Of two that write at once one
/// loses its entry.
void keepInCache(const std::string& file, const std::string& key, const nlohmann::json& entry);

}  // namespace lockstep::plugin::detail
