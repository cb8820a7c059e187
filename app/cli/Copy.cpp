#include <fmt/format.h>

#include "app/cli/AddCommand.h"
#include "engine/base/Try.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {
namespace {

struct Copied {
  std::string from;
  std::string to;
};

base::Result<int> copy(const Copied& arguments) {
  LOCKSTEP_TRY(trace::copyRunFile(arguments.from, arguments.to));
  fmt::print("{}\n", arguments.to);
  return 0;
}

}  // namespace

void addCopy(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      addCommand(app, chosen, "copy", "Copy a run, live or not, into one consistent file", copy);
  command->add_option("RUN", arguments->from, "Run file")->required();
  command->add_option("TO", arguments->to, "New file")->required();
}

}  // namespace lockstep::cli
