#include <fmt/format.h>

#include <string>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/Interruptible.h"
#include "app/cli/RunItself.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/report/WriteHtml.h"

namespace lockstep::cli {
namespace {

struct ReportArguments {
  std::string run;
  std::string html;
};

base::Result<int> reportRun(const ReportArguments& arguments) {
  LOCKSTEP_TRY(refuseRunItself(arguments.run, arguments.html));
  const Interruptible interruptible;
  const std::uint64_t bytes = LOCKSTEP_TRY([&] {
    TerminalLine line;
    return report::writeHtml(arguments.run, arguments.html,
                             [&](double part) { return drawPart(line, part); });
  }());
  if (arguments.html != "-") {
    printPlain(fmt::format("{}: {}, opens in any browser\n", arguments.html,
                           base::bytesText(static_cast<double>(bytes))));
  }
  return 0;
}

}  // namespace

void addReport(CLI::App& app, Command& chosen) {
  auto [command, arguments] = addCommand(
      app, chosen, "report", "Write what there is to say of a run into one page", reportRun);
  command->add_option("RUN", arguments->run, "Run file, live or finished")->required();
  command->add_option("--html", arguments->html, "The page to write")
      ->type_name("FILE")
      ->required();
  command->footer(
      "The page has the findings with savings and remedies, the figures of info, pictures, the\n"
      "longest iterations span by span, and tables. It needs no other file and no network: send\n"
      "it to whom you like. Of many ranks it shows those that are unlike the rest, and a few that\n"
      "are alike. A FILE that ends in .gz is compressed; - is standard output. A file is there\n"
      "whole or not at all.");
}

}  // namespace lockstep::cli
