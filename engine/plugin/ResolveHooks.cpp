#include "engine/plugin/ResolveHooks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/base/Nearest.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::plugin {

namespace {

using experiment::FieldType;
using experiment::HookSettings;
using experiment::Mistake;
using experiment::ParseOutcome;

FieldType typeOf(HookParam::Type type) {
  switch (type) {
    case HookParam::Type::kBool:
      return FieldType::kBool;
    case HookParam::Type::kInteger:
      return FieldType::kInteger;
    case HookParam::Type::kReal:
      return FieldType::kReal;
    case HookParam::Type::kChoice:
      return FieldType::kChoice;
    case HookParam::Type::kText:
      return FieldType::kText;
  }
  return FieldType::kText;
}

/// In a plugin's types.
HookValue given(const experiment::HookValue& value) {
  return std::visit(
      [](const auto& held) -> HookValue {
        if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(held)>>) {
          return static_cast<double>(held);
        } else {
          return held;
        }
      },
      value);
}

/// Looks for hooks, one after the other, and gathers what is wrong.
class Resolver {
 public:
  Resolver(ParseOutcome& parsed, std::string experimentFile, const ScanOptions& options)
      : parsed_(parsed), file_(std::move(experimentFile)), options_(options) {}

  ResolvedHooks run() {
    auto& hook = parsed_.experiment.hook;
    std::string table = "hook.";
    resolve(table, hook, !hook.inner.empty());
    for (std::size_t i = 0; i < hook.inner.size(); ++i) {
      table += "inner.";
      // Each hook holds the next; the last one holds none.
      resolve(table, hook.inner[i], i + 1 < hook.inner.size());
    }
    if (!mistakes_.empty()) {
      parsed_.add(std::move(mistakes_));
      return {};
    }
    return std::move(resolved_);
  }

 private:
  void wrong(const std::string& key, std::string text, bool atName = false) {
    mistakes_.push_back(parsed_.at(key, std::move(text), atName));
  }

  void resolve(const std::string& table, HookSettings& settings, bool holdsAnother) {
    const auto found =
        settings.library.empty() ? lookUp(table, settings) : open(table, settings);
    if (!found) {
      return;
    }
    const auto& [library, info] = *found;
    if (holdsAnother && (info.caps & LOCKSTEP_CAP_INNER) == 0) {
      wrong(table + "name", fmt::format("hook \"{}\" takes no other hook inside", info.id));
    }
    if (parsed_.experiment.ddp.join && (info.caps & LOCKSTEP_CAP_JOIN) == 0) {
      wrong(table + "name", fmt::format("hook \"{}\" cannot do without a rank that has no inputs; "
                                        "leave ddp.join out",
                                        info.id));
    }
    const auto devices = info.deviceNames();
    if (const auto& device = parsed_.experiment.processes.device;
        std::find(devices.begin(), devices.end(), device) == devices.end()) {
      wrong(table + "name", fmt::format("hook \"{}\" takes no gradients on \"{}\"; set "
                                        "processes.device = \"{}\", or take another hook",
                                        info.id, device, fmt::join(devices, "\" or \"")));
    }
    ChosenHook chosen{library, info.id, {}};
    for (const auto& [key, value] : settings.values) {
      checkValue(table + key, key, value, info);
      chosen.values.emplace(key, given(value));
    }
    resolved_.choice.push_back(std::move(chosen));
    resolved_.infos.push_back(info);
  }

  using Found = std::pair<std::string, HookInfo>;

  /// In the library that the experiment names.
  std::optional<Found> open(const std::string& table, const HookSettings& settings) {
    const FoundLibrary library =
        scanLibrary(settings.library, PluginFolder::Kind::kExperiment, options_);
    if (!library.error.empty()) {
      wrong(table + "library", fmt::format("{}: {}", settings.library, library.error));
      return std::nullopt;
    }
    std::vector<std::string> ids;
    for (const HookInfo& info : library.info.hooks) {
      if (info.id == settings.name) {
        return Found(library.path, info);
      }
      ids.push_back(info.id);
    }
    wrong(table + "name", fmt::format("{} has no hook \"{}\"; it has {}", settings.library,
                                      settings.name, fmt::join(ids, ", ")));
    return std::nullopt;
  }

  /// In the plugin folders.
  std::optional<Found> lookUp(const std::string& table, HookSettings& settings) {
    // Once for all hooks of the experiment: each library costs a process.
    if (!scanned_) {
      libraries_ = scanFolders(pluginFolders(file_), options_);
      scanned_ = true;
    }
    const FoundHook hook = findHook(libraries_, settings.name);
    if (hook.hook == nullptr) {
      wrong(table + "name", unknown(settings.name));
      return std::nullopt;
    }
    // Written into the experiment: ranks get it as a text, without the folder that its file is in.
    if (hook.library->from == PluginFolder::Kind::kExperiment) {
      settings.library = hook.library->path;
    }
    return Found(hook.library->path, *hook.hook);
  }

  [[nodiscard]] std::string unknown(const std::string& name) const {
    std::vector<std::string> ids;
    for (const FoundLibrary& library : libraries_) {
      // A hook is as a rule the library of its name: then that is why it is missing.
      if (!library.error.empty() && library.path.ends_with("/" + name + ".so")) {
        return fmt::format("{}: {}", library.path, library.error);
      }
      for (const HookInfo& info : library.info.hooks) {
        ids.push_back(info.id);
      }
    }
    if (ids.empty()) {
      return fmt::format("there is no hook \"{}\": no plugin was found in {}", name,
                         pathsText(pluginFolders(file_)));
    }
    std::sort(ids.begin(), ids.end());
    const std::string nearest = base::nearestOf(name, ids);
    return nearest.empty() ? fmt::format("there is no hook \"{}\"; the hooks are {}", name,
                                         fmt::join(ids, ", "))
                           : fmt::format("there is no hook \"{}\"; did you mean {}?", name, nearest);
  }

  void checkValue(const std::string& key, const std::string& leaf,
                  const experiment::HookValue& value, const HookInfo& info) {
    std::vector<std::string> keys;
    for (const HookParam& param : info.params) {
      if (param.key == leaf) {
        if (auto text = experiment::violation(fieldOf(param, key), value)) {
          wrong(key, std::move(*text));
        }
        return;
      }
      keys.push_back(param.key);
    }
    const std::string nearest = base::nearestOf(leaf, keys);
    wrong(key,
          keys.empty() ? fmt::format("unknown key; hook \"{}\" has no parameters", info.id)
          : nearest.empty()
              ? fmt::format("unknown key; the parameters of hook \"{}\" are {}", info.id,
                            fmt::join(keys, ", "))
              : fmt::format("unknown key; did you mean {}?",
                            key.substr(0, key.size() - leaf.size()) + nearest),
          true);
  }

  ParseOutcome& parsed_;
  const std::string file_;
  const ScanOptions& options_;
  std::vector<FoundLibrary> libraries_;
  bool scanned_ = false;
  std::vector<Mistake> mistakes_;
  ResolvedHooks resolved_;
};

}  // namespace

experiment::Field fieldOf(const HookParam& param, const std::string& key) {
  experiment::Field field;
  field.key = key;
  field.type = typeOf(param.type);
  field.label = param.label;
  field.unit = param.unit;
  field.help = param.help;
  if (param.type == HookParam::Type::kInteger || param.type == HookParam::Type::kReal) {
    field.min = param.min;
    field.max = param.max;
  }
  const bool textual =
      param.type == HookParam::Type::kChoice || param.type == HookParam::Type::kText;
  field.initial = textual ? fmt::format("\"{}\"", param.initialText)
                  : param.type == HookParam::Type::kBool
                      ? (param.initial != 0 ? "true" : "false")
                      : fmt::format("{}", param.initial);
  field.choices = param.choices;
  field.advanced = param.advanced;
  return field;
}

ResolvedHooks resolveHooks(ParseOutcome& parsed, const std::string& experimentFile,
                           const ScanOptions& options) {
  if (!parsed.mistakes.empty() || parsed.experiment.hook.isOwn()) {
    return {};
  }
  return Resolver(parsed, experimentFile, options).run();
}

}  // namespace lockstep::plugin
