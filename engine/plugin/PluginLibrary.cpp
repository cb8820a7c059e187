#include "engine/plugin/PluginLibrary.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "engine/plugin/detail/Describe.h"
#include "engine/plugin/detail/Probe.h"

namespace lockstep::plugin {

namespace {

constexpr int kNewestMajorTried = 9;  // to name the version of a plugin that is too new

base::Error refusal(const std::string& path, std::string text) {
  return {base::ExitCode::kHookFailed, std::move(text), path};
}

/// Fields of the entry that this host cannot do without.
constexpr std::size_t kSmallestEntry = offsetof(lockstep_plugin, create) + sizeof(void*);

// The symbol's name has the version in it, so that a library of another one is never called; this
// is only for the sentence.
std::string entryOfAnotherVersion(void* library) {
  for (int major = 0; major <= kNewestMajorTried; ++major) {
    const std::string symbol = fmt::format("lockstep_comm_hook_plugin_v{}", major);
    if (dlsym(library, symbol.c_str()) != nullptr) {
      return fmt::format(
          "was built for version {} of the plugin border, this Lockstep has version {}: build it "
          "again with this Lockstep's headers",
          major, LOCKSTEP_ABI_MAJOR);
    }
  }
  return "exports no " LOCKSTEP_PLUGIN_SYMBOL ": it is no plugin of Lockstep";
}

}  // namespace

bool isWhole(const lockstep_hook* hook) {
  return hook != nullptr && hook->struct_size >= offsetof(lockstep_hook, destroy) + sizeof(void*) &&
         hook->run != nullptr && hook->resume != nullptr && hook->destroy != nullptr;
}

base::Result<std::shared_ptr<PluginLibrary>> PluginLibrary::open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return refusal(path, "there is no such file");
  }
  const std::string absolute = std::filesystem::absolute(path).string();
  // As the loader has it: a library is in a process once.
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<PluginLibrary>> open;
  // Held while a library is opened: a second caller waits for init() to have returned.
  const std::lock_guard lock(mutex);
  if (auto library = open[absolute].lock()) {
    return library;
  }
  auto opened = load(path, absolute);
  if (opened.ok()) {
    open[absolute] = opened.value();
  }
  return opened;
}

base::Result<std::shared_ptr<PluginLibrary>> PluginLibrary::load(const std::string& path,
                                                                 const std::string& absolute) {
  // Now, so that a function that is missing is a refusal here and no crash in the first step;
  // local, so that two plugins may use the same names. Never closed: its threads may outlive its
  // hooks.
  void* library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return refusal(path, fmt::format("cannot be loaded: {}", dlerror()));
  }
  const void* symbol = dlsym(library, LOCKSTEP_PLUGIN_SYMBOL);
  if (symbol == nullptr) {
    return refusal(path, entryOfAnotherVersion(library));
  }
  // The first field of every struct of the border is its size: of an older plugin's, which is
  // shorter, the rest stays zero.
  std::uint32_t size = 0;
  std::memcpy(&size, symbol, sizeof size);
  if (size < kSmallestEntry) {
    return refusal(path, fmt::format("its entry says that it is {} bytes long, {} are needed", size,
                                     kSmallestEntry));
  }
  lockstep_plugin entry{};
  std::memcpy(&entry, symbol, std::min<std::size_t>(size, sizeof entry));
  const std::pair<const char*, bool> required[] = {{"hook_count", entry.hook_count != nullptr},
                                                   {"hook_info", entry.hook_info != nullptr},
                                                   {"create", entry.create != nullptr}};
  for (const auto& [name, present] : required) {
    if (!present) {
      return refusal(path, fmt::format("its entry has no function {}", name));
    }
  }
  if (entry.init != nullptr) {
    if (const lockstep_status status = entry.init(absolute.c_str()); status != LOCKSTEP_OK) {
      return refusal(path, fmt::format("its init() refused with status {}", status));
    }
  }
  auto info = detail::describe(entry);
  if (!info.ok()) {
    if (entry.deinit != nullptr) {
      entry.deinit();
    }
    return refusal(path, info.error().what);
  }
  info.value().path = absolute;
  return std::shared_ptr<PluginLibrary>(new PluginLibrary(entry, std::move(info).value()));
}

PluginLibrary::PluginLibrary(lockstep_plugin entry, PluginInfo info)
    : entry_(entry), info_(std::move(info)) {}

PluginLibrary::~PluginLibrary() {
  if (entry_.deinit != nullptr) {
    entry_.deinit();
  }
}

PluginInfo PluginLibrary::probed(const std::function<void(const std::string& id)>& before) const {
  PluginInfo probed = info_;
  for (HookInfo& hook : probed.hooks) {
    before(hook.id);
    detail::probe(hook, entry_.create);
  }
  return probed;
}

const HookInfo* PluginLibrary::find(std::string_view id) const {
  const auto found = std::find_if(info_.hooks.begin(), info_.hooks.end(),
                                  [id](const HookInfo& hook) { return hook.id == id; });
  return found == info_.hooks.end() ? nullptr : &*found;
}

}  // namespace lockstep::plugin
