#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "app/cli/Commands.h"

namespace lockstep::cli {

/// Adds a command that does `run` with its arguments; into these go the options that are added to
/// it.
template <typename Arguments, typename Code>
std::pair<CLI::App*, Arguments*> addCommand(CLI::App& app, Command& chosen, const std::string& name,
                                            const std::string& about,
                                            Code (*run)(const Arguments&)) {
  auto* command = app.add_subcommand(name, about);
  const auto arguments = std::make_shared<Arguments>();
  command->callback([&chosen, arguments, run] {
    chosen = [arguments, run]() -> base::Result<int> { return run(*arguments); };
  });
  return {command, arguments.get()};
}

/// Adds an option that refuses what is not `allowed`.
template <typename Value>
CLI::Option* addChecked(CLI::App& command, const std::string& name, Value& value,
                        const CLI::Validator& allowed, const std::string& text) {
  return command.add_option(name, value, text)->check(allowed);
}

}  // namespace lockstep::cli
