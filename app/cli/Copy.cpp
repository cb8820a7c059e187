#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/Commands.h"
#include "engine/base/Try.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {
namespace {

base::Result<int> copy(const std::string& from, const std::string& to) {
  LOCKSTEP_TRY(trace::copyRunFile(from, to));
  fmt::print("{}\n", to);
  return 0;
}

}  // namespace

void addCopy(CLI::App& app, Command& chosen) {
  auto* command = app.add_subcommand("copy", "Copy a run, live or not, into one consistent file");
  auto from = std::make_shared<std::string>();
  auto to = std::make_shared<std::string>();
  command->add_option("RUN", *from, "Run file")->required();
  command->add_option("TO", *to, "New file")->required();
  command->callback([&chosen, from, to] { chosen = [from, to] { return copy(*from, *to); }; });
}

}  // namespace lockstep::cli
