#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/ReadExperiment.h"
#include "engine/base/Try.h"
#include "engine/launch/ControlSocket.h"
#include "engine/plugin/ResolveHooks.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {
namespace {

using base::Error;
using base::ExitCode;

/// What may change while a run is live, by key, as JSON: the values of `hooks`.
std::map<std::string, std::string> liveValues(const plugin::ResolvedHooks& hooks) {
  std::map<std::string, std::string> live;
  std::string table = "hook.";
  for (std::size_t i = 0; i < hooks.choice.size(); ++i) {
    const auto& values = hooks.choice[i].values;
    for (const plugin::HookParam& param : hooks.infos[i].params) {
      if (!param.live) {
        continue;
      }
      const auto value = values.find(param.key);
      live[table + param.key] =
          value == values.end()
              ? std::string()
              : std::visit([](const auto& held) { return nlohmann::json(held).dump(); },
                           value->second);
    }
    table += "inner.";
  }
  return live;
}

Error cannotChange(const std::string& key, const std::map<std::string, std::string>& live,
                   const std::string& run) {
  std::vector<std::string> keys;
  for (const auto& [name, value] : live) {
    keys.push_back(name);
  }
  return {ExitCode::kBadInput,
          keys.empty() ? fmt::format("{} cannot change during a run, and nothing else of this one "
                                     "can: no parameter of its hook is live",
                                     key)
                       : fmt::format("{} cannot change during a run; of this one can {}", key,
                                     fmt::join(keys, ", ")),
          run};
}

struct SetArguments {
  std::string run;
  std::vector<std::string> sets;
};

base::Result<int> set(const SetArguments& arguments) {
  const std::string& run = arguments.run;
  const auto overrides = LOCKSTEP_TRY(overridesOf(arguments.sets, "set"));
  const auto summary = LOCKSTEP_TRY(trace::readRunSummary(run));
  // Checked as the experiment file that would say the same.
  auto parsed = experiment::parseText(summary.info.experimentToml, run, {}, overrides);
  const auto live = liveValues(plugin::resolveHooks(parsed, ""));
  if (!parsed.mistakes.empty()) {
    return fail(parsed.mistakes);
  }
  for (const auto& [key, text] : overrides) {
    if (!live.contains(key)) {
      return cannotChange(key, live, run);
    }
  }
  for (const auto& [key, text] : overrides) {
    launch::ControlCommand command{launch::ControlCommand::Kind::kSet};
    command.change = {key, live.at(key)};
    LOCKSTEP_TRY(launch::sendControl(run, command));
    fmt::print("{}: {} = {} soon, on all ranks from the same step on\n", run, key, live.at(key));
  }
  return 0;
}

}  // namespace

void addSet(CLI::App& app, Command& chosen) {
  auto [command, arguments] = addCommand(
      app, chosen, "set", "Change live parameters of a live run's hook, on all ranks at once", set);
  command->add_option("RUN", arguments->run, "Run file")->required();
  command->add_option("SETTING", arguments->sets, "KEY=VALUE, for example hook.density=0.05")
      ->required();
}

}  // namespace lockstep::cli
