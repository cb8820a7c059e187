#include "engine/plugin/PluginFolders.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "engine/base/ShippedFiles.h"

namespace lockstep::plugin {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string userData() {
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) {
    return data;
  }
  const std::string home = variable("HOME");
  return home.empty() ? std::string() : home + "/.local/share";
}

}  // namespace

std::vector<PluginFolder> pluginFolders(const std::string& experimentFile) {
  using Kind = PluginFolder::Kind;
  std::vector<PluginFolder> folders;
  if (!experimentFile.empty()) {
    folders.push_back({Kind::kExperiment, fs::path(experimentFile).parent_path() / "hooks"});
  }
  std::istringstream listed(variable("LOCKSTEP_HOOKS"));
  for (std::string path; std::getline(listed, path, ':');) {
    if (!path.empty()) {
      folders.push_back({Kind::kUser, path});
    }
  }
  if (const std::string data = userData(); !data.empty()) {
    folders.push_back({Kind::kUser, data + "/lockstep/hooks"});
  }
  const fs::path program = base::programFolder();
  // In a build folder, and then where a package has put them.
  folders.push_back({Kind::kBuiltIn, program / "hooks"});
  folders.push_back({Kind::kBuiltIn, (program / "../lib/lockstep/hooks").lexically_normal()});
  return folders;
}

std::string pathsText(const std::vector<PluginFolder>& folders) {
  std::string text;
  for (const PluginFolder& folder : folders) {
    text += (text.empty() ? "" : ", ") + folder.path;
  }
  return text;
}

std::string_view name(PluginFolder::Kind kind) {
  switch (kind) {
    case PluginFolder::Kind::kBuiltIn: return "built-in";
    case PluginFolder::Kind::kUser: return "user";
    case PluginFolder::Kind::kExperiment: return "experiment";
  }
  return "";
}

std::vector<std::string> librariesIn(const PluginFolder& folder) {
  std::vector<std::string> libraries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.path, error)) {
    if (entry.path().extension() == ".so") {
      libraries.push_back(entry.path().string());
    }
  }
  std::sort(libraries.begin(), libraries.end());
  return libraries;
}

}  // namespace lockstep::plugin
