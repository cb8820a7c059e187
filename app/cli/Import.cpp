#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/FreshRunFile.h"
#include "app/cli/ProgressLine.h"
#include "engine/base/NumberText.h"
#include "engine/base/PlainText.h"
#include "engine/base/Try.h"
#include "engine/import/ImportRun.h"

namespace lockstep::cli {
namespace {

struct ImportArguments {
  std::vector<std::string> paths;
  std::string out;
  std::string name;
  bool quiet = false;
};

base::Result<int> importJob(const ImportArguments& arguments) {
  imports::ImportOptions options;
  options.paths.assign(arguments.paths.begin(), arguments.paths.end());
  options.name = arguments.name;
  options.runFile =
      arguments.out.empty() ? freshRunFile("imported") : std::filesystem::path(arguments.out);
  const imports::ImportReport report = LOCKSTEP_TRY([&] {
    TerminalLine line;
    options.progress = [&](const std::filesystem::path& file, std::size_t number, std::size_t of) {
      line.draw(fmt::format("reading {} ({} of {})", base::plainText(file.filename().string()),
                            number, of));
      return true;
    };
    return imports::importRun(options);
  }());
  if (arguments.quiet) {
    return 0;
  }
  std::string text = fmt::format(
      "{}: {} of {}, {}\n", options.runFile.string(), base::countedText(report.steps, "iteration"),
      base::countedText(report.ranks, "rank"), base::countedText(report.events, "event"));
  if (report.leftOut > 0) {
    text += fmt::format("left out: {} that hold neither traces nor dumps nor logs\n",
                        base::countedText(report.leftOut, "file"));
  }
  for (const std::string& problem : report.problems) {
    text += fmt::format("  {}\n", problem);
  }
  printPlain(text);
  return 0;
}

}  // namespace

void addImport(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      addCommand(app, chosen, "import",
                 "Make a run of traces that you have: torch.profiler's, and "
                 "dumps of the Flight Recorder; or of the logs of an NCCL "
                 "Inspector",
                 importJob);
  command
      ->add_option(
          "PATH", arguments->paths,
          "Traces, dumps and logs of one job, one or many ranks, also .gz; or folders of them")
      ->required();
  command->add_option("--out", arguments->out,
                      "Run file to write; default: runs/imported-<UTC time>.lockstep");
  command->add_option("--name", arguments->name,
                      "Name of the run; default: that of the first path");
  command->add_flag("--quiet", arguments->quiet, "Say nothing but errors");
  command->footer(
      "What a trace does not say is no part of the run, and is listed as its problems. Dumps are "
      "read\nwithout running anything that is in them.");
}

}  // namespace lockstep::cli
