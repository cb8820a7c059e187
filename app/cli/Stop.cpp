#include <fmt/format.h>

#include "app/cli/AddCommand.h"
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
  auto [command, run] =
      addCommand(app, chosen, "stop", "Ask a live run to stop after its step", stop);
  command->add_option("RUN", *run, "Run file")->required();
}

}  // namespace lockstep::cli
