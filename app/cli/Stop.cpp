#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/Commands.h"
#include "engine/base/Try.h"
#include "engine/launch/ControlSocket.h"

namespace lockstep::cli {
namespace {

base::Result<int> stop(const std::string& run) {
  LOCKSTEP_TRY(launch::sendControl(run, {launch::ControlCommand::Kind::kStop}));
  fmt::print("{}: stops after its step\n", run);
  return 0;
}

}  // namespace

void addStop(CLI::App& app, Command& chosen) {
  auto* command = app.add_subcommand("stop", "Ask a live run to stop after its step");
  auto run = std::make_shared<std::string>();
  command->add_option("RUN", *run, "Run file")->required();
  command->callback([&chosen, run] { chosen = [run] { return stop(*run); }; });
}

}  // namespace lockstep::cli
