#include <fmt/format.h>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/RunReportText.h"
#include "engine/base/Try.h"

namespace lockstep::cli {
namespace {

struct InfoArguments {
  std::string run;
  bool all = false;
  bool json = false;
};

base::Result<int> info(const InfoArguments& arguments) {
  const auto report = LOCKSTEP_TRY(report::readRunReport(arguments.run));
  if (arguments.json) {
    fmt::print("{}\n", toJson(report));
  } else {
    printPlain(infoText(report, arguments.all ? Lists::kWhole : Lists::kShort));
  }
  return 0;
}

}  // namespace

void addInfo(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      addCommand(app, chosen, "info", "Say what a run did, live or finished", info);
  command->add_option("RUN", arguments->run, "Run file")->required();
  command->add_flag("--all", arguments->all,
                    "List each rank, host and problem, however many there are");
  command->add_flag("--json", arguments->json, "Print one JSON object, with all of them");
}

}  // namespace lockstep::cli
