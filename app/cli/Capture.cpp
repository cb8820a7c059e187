#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/Commands.h"
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
  auto* command = app.add_subcommand(
      "capture",
      "Ask the ranks of a live job of PyTorch for a trace of their next iterations: operators, "
      "kernels, copies and what runs the collectives, in the same run. They take longer meanwhile");
  auto arguments = std::make_shared<CaptureArguments>();
  command->add_option("RUN", arguments->run, "Run file")->required();
  command->add_option("--steps", arguments->steps, "How many iterations; default: 5")
      ->check(CLI::Range(1, launch::kMostTracedSteps));
  command->callback([&chosen, arguments] { chosen = [arguments] { return capture(*arguments); }; });
}

}  // namespace lockstep::cli
