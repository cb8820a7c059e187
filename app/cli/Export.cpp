#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/Interruptible.h"
#include "app/cli/ProgressLine.h"
#include "app/cli/RunItself.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/export/ChromeTrace.h"
#include "engine/export/RankChoice.h"
#include "engine/export/Tables.h"

namespace lockstep::cli {
namespace {

struct Asked {
  std::string run;
  std::string json;
  std::string folder;
  std::string reader;
  std::string range;
  std::string ranks;
  std::vector<std::pair<std::string, std::string>> tables;  // table, file
};

/// Standard output is the export's own when it goes there.
void say(bool quiet, const std::string& line) {
  if (!quiet) {
    fmt::print("{}\n", line);
  }
}

base::Status traceOf(const Asked& asked, const exports::TraceOptions& options) {
  const bool hta = options.reader == exports::TraceReader::kHta;
  LOCKSTEP_TRY(refuseRunItself(asked.run, asked.json));
  const exports::TraceReport report = LOCKSTEP_TRY([&] {
    TerminalLine line;
    const auto progress = [&](double part) { return drawPart(line, part); };
    return asked.folder.empty()
               ? exports::writeTrace(asked.run, asked.json, options, progress)
               : exports::writeTracePerRank(asked.run, asked.folder, options, progress);
  }());
  const bool quiet = asked.json == "-";
  const std::string facts =
      fmt::format("{} of {}, {}", base::countedText(report.events, "event"),
                  base::countedText(report.ranks, "rank"), base::bytesText(report.bytes));
  say(quiet, asked.folder.empty()
                 ? fmt::format("{}: {}", asked.json, facts)
                 : fmt::format("{} in {}: {}", base::countedText(report.files.size(), "file"),
                               asked.folder, facts));
  for (const exports::RankOverlap& rank : report.overlaps) {
    say(quiet, fmt::format("  rank {}: overlap {} over {}", rank.rank,
                           rank.percent ? base::percentText(*rank.percent, 2)
                                        : std::string("unknown, no communication"),
                           base::countedText(rank.steps, "iteration")));
  }
  if (!report.others.empty()) {
    complain(
        fmt::format("note: {} holds traces of other ranks or runs, which readers of a folder "
                    "take for ranks of this one: {}{}",
                    asked.folder, report.others.front().filename().string(),
                    report.others.size() > 1 ? ", ..." : ""));
  }
  if (hta && asked.folder.empty() && report.ranks > 1) {
    complain("note: Holistic Trace Analysis reads one file a rank: use --per-rank FOLDER for it");
  }
  return {};
}

base::Status tableOf(const Asked& asked, const exports::Selection& selection,
                     const std::string& table, const std::string& file) {
  LOCKSTEP_TRY(refuseRunItself(asked.run, file));
  const auto written = LOCKSTEP_TRY([&] {
    TerminalLine line;
    return exports::writeTable(asked.run, table, file, selection,
                               [&](double part) { return drawPart(line, part); });
  }());
  say(file == "-", fmt::format("{}: {}, {}", file, base::countedText(written.rows, "row"),
                               base::bytesText(written.bytes)));
  return {};
}

int refuse(const std::string& why) {
  complain(why);
  return static_cast<int>(base::ExitCode::kBadInput);
}

base::Result<int> exportRun(const Asked& asked) {
  if (asked.json.empty() && asked.folder.empty() && asked.tables.empty()) {
    return refuse("say what to write: --json FILE, --per-rank FOLDER or --csv TABLE FILE");
  }
  if (!asked.json.empty() && !asked.folder.empty()) {
    return refuse("--json writes one file for all ranks, --per-rank a file for each: take one");
  }
  if (!asked.reader.empty() && asked.json.empty() && asked.folder.empty()) {
    return refuse("--for is about traces: it goes with --json or --per-rank");
  }
  exports::TraceOptions options;
  if (!asked.reader.empty()) {
    options.reader = exports::TraceReader::kHta;
  }
  if (!asked.range.empty()) {
    options.selection.steps = LOCKSTEP_TRY(exports::parseStepRange(asked.range));
  }
  const Interruptible interruptible;
  if (!asked.ranks.empty()) {
    const auto choice = LOCKSTEP_TRY(exports::parseRanks(asked.ranks));
    options.selection.ranks = LOCKSTEP_TRY([&] {
      TerminalLine line;
      return exports::ranksOf(choice, asked.run, [&](double part) { return drawPart(line, part); });
    }());
  }
  if (!asked.json.empty() || !asked.folder.empty()) {
    LOCKSTEP_TRY(traceOf(asked, options));
  }
  for (const auto& [table, file] : asked.tables) {
    LOCKSTEP_TRY(tableOf(asked, options.selection, table, file));
  }
  return 0;
}

std::string tableList() {
  std::string text = "Tables:\n";
  for (const exports::TableInfo& table : exports::tables()) {
    text += fmt::format("  {:<14}{}\n", table.name, table.shows);
  }
  return text;
}

}  // namespace

void addExport(CLI::App& app, Command& chosen) {
  auto [command, asked] = addCommand(
      app, chosen, "export", "Write a run for other programs: traces and tables", exportRun);
  command->add_option("RUN", asked->run, "Run file, live or finished")->required();
  const auto named = [command = command](const char* name, auto& value, const char* type,
                                         const char* text) {
    return command->add_option(name, value, text)->type_name(type);
  };
  named("--json", asked->json, "FILE",
        "Write one trace for all ranks, which Perfetto (ui.perfetto.dev) opens");
  named("--per-rank", asked->folder, "FOLDER", "Write a trace a rank into a folder instead");
  named("--for", asked->reader, "READER",
        "hta: give computing and communication the streams and kernel names that Holistic Trace "
        "Analysis looks for; they are no CUDA streams, and say so")
      ->check(CLI::IsMember({"hta"}));
  named("--csv", asked->tables, "TABLE FILE", "Write a table; can be given several times");
  named("--range", asked->range, "STEPS", "Iterations: 7, 3..9, 3.. or ..9; all by default");
  named("--ranks", asked->ranks, "RANKS",
        "Ranks: 3,17,100-120, or outliers, those that are unlike the rest; all by default. Tables "
        "that are of no single rank are of all");
  command->footer(
      tableList() +
      "\nA FILE that ends in .gz is compressed; - is standard output. A file is there "
      "whole or not at\nall. Units stand at the end of a column's title. Times of tables "
      "are those that the studio\nshows; those of traces begin with what is exported.");
}

}  // namespace lockstep::cli
