#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/Commands.h"
#include "app/cli/Complaint.h"
#include "app/cli/TextTable.h"
#include "engine/plugin/PluginScan.h"
#include "engine/plugin/ResolveHooks.h"

namespace lockstep::cli {
namespace {

using plugin::FoundLibrary;

/// "density = 0.01   part of the gradients that is sent; a number from 1e-06 to 1".
std::string paramText(const plugin::HookParam& param) {
  const auto field = plugin::fieldOf(param, param.key);
  return fmt::format("{} = {}   {}; {}", param.key, field.initial, param.help,
                     experiment::allowedValues(field));
}

std::string listText(const std::vector<FoundLibrary>& libraries) {
  TextTable table({"hook", "version", "from", "what it does"});
  std::string refused;
  bool any = false;
  for (const FoundLibrary& library : libraries) {
    for (const auto& hook : library.info.hooks) {
      any = true;
      table.add({hook.id, hook.version, std::string(plugin::name(library.from)), hook.summary});
    }
    if (!library.error.empty()) {
      refused += fmt::format("refused: {}: {}\n", library.path, library.error);
    }
  }
  return (any ? table.text() : std::string()) + refused;
}

std::string hookText(const FoundLibrary& library, const plugin::HookInfo& hook) {
  std::string text =
      fmt::format("{} {} ({}, {})\n{}\n", hook.id, hook.version, plugin::name(library.from),
                  library.path, hook.summary);
  for (const auto& param : hook.params) {
    text += fmt::format("  {}\n", paramText(param));
  }
  return text;
}

std::string listJson(const std::vector<FoundLibrary>& libraries) {
  auto list = nlohmann::json::array();
  for (const FoundLibrary& library : libraries) {
    list.push_back({{"path", library.path},
                    {"from", plugin::name(library.from)},
                    {"error", library.error},
                    {"hooks", library.error.empty()
                                  ? nlohmann::json::parse(plugin::toJson(library.info))["hooks"]
                                  : nlohmann::json::array()}});
  }
  return list.dump(2) + "\n";
}

struct HooksArguments {
  std::string id;
  std::string file;
  bool json = false;
};

int hooks(const HooksArguments& arguments) {
  const auto folders = plugin::pluginFolders(arguments.file);
  const auto libraries = plugin::scanFolders(folders);
  if (arguments.id.empty()) {
    fmt::print("{}", arguments.json ? listJson(libraries) : listText(libraries));
    return 0;
  }
  const auto found = plugin::findHook(libraries, arguments.id);
  if (found.hook == nullptr) {
    return fail(base::Error{base::ExitCode::kBadInput,
                            fmt::format("there is no hook \"{}\" in {}; see lockstep hooks",
                                        arguments.id, plugin::pathsText(folders)),
                            ""});
  }
  fmt::print("{}", arguments.json ? listJson({*found.library})
                                  : hookText(*found.library, *found.hook));
  return 0;
}

}  // namespace

void addHooks(CLI::App& app, Command& chosen) {
  auto* command = app.add_subcommand("hooks", "List the communication hooks that were found");
  auto arguments = std::make_shared<HooksArguments>();
  command->add_option("HOOK", arguments->id, "Tell of this hook and its parameters alone");
  command->add_option("--for", arguments->file,
                      "Experiment file whose own plugins (hooks/ beside it) count, too");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([&chosen, arguments] { chosen = [arguments] { return hooks(*arguments); }; });
}

}  // namespace lockstep::cli
