#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/Commands.h"
#include "app/cli/Complaint.h"
#include "app/cli/RunReport.h"
#include "engine/base/Try.h"

namespace lockstep::cli {
namespace {

base::Result<int> info(const std::string& run, bool json) {
  const auto report = LOCKSTEP_TRY(readRunReport(run));
  if (json) {
    fmt::print("{}\n", toJson(report));
  } else {
    printPlain(infoText(report));
  }
  return 0;
}

}  // namespace

void addInfo(CLI::App& app, Command& chosen) {
  auto* command = app.add_subcommand("info", "Say what a run did, live or finished");
  auto run = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("RUN", *run, "Run file")->required();
  command->add_flag("--json", *json, "Print one JSON object");
  command->callback([&chosen, run, json] { chosen = [run, json] { return info(*run, *json); }; });
}

}  // namespace lockstep::cli
