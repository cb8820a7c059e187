#include "ui/panels/hooks/LoadHook.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

namespace lockstep::ui {
namespace {

namespace fs = std::filesystem;

bool sameContent(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  // One file by two paths: it was dropped out of the folder itself, or is linked into it.
  if (fs::equivalent(a, b, ignored)) {
    return true;
  }
  if (fs::file_size(a, ignored) != fs::file_size(b, ignored)) {
    return false;
  }
  std::ifstream first(a, std::ios::binary);
  std::ifstream second(b, std::ios::binary);
  return first && second &&
         std::equal(std::istreambuf_iterator<char>(first), {},
                    std::istreambuf_iterator<char>(second), {});
}

}  // namespace

LoadedHook loadHook(const fs::path& library, const fs::path& folder, bool replace,
                    const plugin::ScanOptions& options) {
  LoadedHook loaded;
  std::error_code error;
  // Looked at where it lies: what is refused never comes into the folder, which each later scan
  // reads.
  const fs::path source = fs::absolute(library, error).lexically_normal();
  loaded.library = plugin::scanLibrary(source.string(), plugin::PluginFolder::Kind::kUser, options);
  const fs::path target = folder / source.filename();
  loaded.target = target.string();
  if (!loaded.library.error.empty()) {
    loaded.outcome = LoadedHook::Outcome::kRefused;
    return loaded;
  }
  if (source.extension() != ".so") {
    loaded.error = "a library of hooks ends in .so, else it would not be found again";
    return loaded;
  }
  if (fs::exists(target, error)) {
    if (sameContent(source, target)) {
      loaded.outcome = LoadedHook::Outcome::kLoaded;
      return loaded;
    }
    if (!replace) {
      loaded.outcome = LoadedHook::Outcome::kExists;
      return loaded;
    }
  }
  // Beside its place first: a rank that starts now must not open half a file.
  const fs::path draft = target.string() + ".new";
  fs::create_directories(folder, error);
  if (!error) {
    fs::copy_file(source, draft, fs::copy_options::overwrite_existing, error);
  }
  if (!error) {
    fs::rename(draft, target, error);
  }
  if (error) {
    std::error_code ignored;
    fs::remove(draft, ignored);
    loaded.error = "it could not be copied to " + target.string() + ": " + error.message();
    return loaded;
  }
  loaded.outcome = LoadedHook::Outcome::kLoaded;
  return loaded;
}

}  // namespace lockstep::ui
