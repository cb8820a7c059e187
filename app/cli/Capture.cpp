#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/AddCommand.h"
#include "engine/base/Try.h"
#include "engine/launch/ControlSocket.h"

namespace lockstep::cli {
namespace {

struct CaptureArguments {
  std::string run;
  int steps = 5;
};

base::Result<int> capture(const CaptureArguments& arguments) {
  launch::ControlCommand command{launch::ControlCommand::Kind::kTrace};
  command.steps = arguments.steps;
  const auto answer = LOCKSTEP_TRY(launch::sendControl(arguments.run, command));
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  const auto ranks = json.find("ranks");
  fmt::print("{}: {} ranks trace their next {} iterations, and the run has them then\n",
             arguments.run, ranks == json.end() ? 0 : ranks->size(), arguments.steps);
  return 0;
}

}  // namespace

void addCapture(CLI::App& app, Command& chosen) {
  auto [command, arguments] = addCommand(
      app, chosen, "capture",
      "Ask the ranks of a live job of PyTorch for a trace of their next iterations: operators, "
      "kernels, copies and what runs the collectives, in the same run. They take longer meanwhile",
      capture);
  command->add_option("RUN", arguments->run, "Run file")->required();
  command->add_option("--steps", arguments->steps, "How many iterations; default: 5")
      ->check(CLI::Range(1, launch::kMostTracedSteps));
}

}  // namespace lockstep::cli
