#include "engine/export/Tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Try.h"
#include "engine/export/TableWriters.h"

namespace lockstep::exports {
namespace {

struct Table {
  TableInfo info;
  Depth depth;
  WriteTable write;
};

const std::vector<Table>& all() {
  constexpr Depth kRead = Depth::kNames;
  constexpr Depth kAnalysed = Depth::kAnalysis;
  static const std::vector<Table> tables{
      {{"events", "every span and instant"}, kRead, writeEvents},
      {{"statistics", "durations of one kind of event, of one bucket, on one rank"},
       kRead,
       writeStatistics},
      {{"steps", "an iteration of a rank: its phases, communication and overlap"},
       kAnalysed,
       writeSteps},
      {{"ranks", "a rank: medians over the measured iterations"}, kAnalysed, writeRanks},
      {{"overlap", "an iteration of a rank, cut into parts that add up to it"},
       kAnalysed,
       writeOverlap},
      {{"tail", "a cause of exposed communication in an iteration of a rank"},
       kAnalysed,
       writeTail},
      {{"collectives", "a rank's part in a collective: arrival, waiting, transfer"},
       kAnalysed,
       writeCollectives},
      {{"calls", "a collective as all ranks called it, and how they differ"},
       kAnalysed,
       writeCalls},
      {{"hooks", "the phases of the communication hook on a bucket in an iteration of a rank"},
       kAnalysed,
       writeHooks},
      {{"buckets", "a bucket of a layout"}, kRead, writeBuckets},
      {{"parameters", "a parameter and its places in the buckets"}, kRead, writeParameters},
      {{"divergence", "a sample of the replicas: who differs, and by how much"},
       kAnalysed,
       writeDivergence},
      {{"fingerprints", "a parameter of a rank at a sample"}, kRead, writeFingerprints},
      {{"gradients", "a rank's own gradients of a bucket, before they are averaged"},
       kRead,
       writeGradients},
      {{"loss", "losses and evaluations of a rank"}, kRead, writeLoss},
      {{"counters", "every other number that was sampled"}, kRead, writeCounters},
      {{"log", "a piece of a process's output"}, kRead, writeLog},
      {{"problems", "an entry of the list of problems"}, kRead, writeProblems}};
  return tables;
}

}  // namespace

const std::vector<TableInfo>& tables() {
  static const std::vector<TableInfo> infos = [] {
    std::vector<TableInfo> found;
    for (const Table& table : all()) {
      found.push_back(table.info);
    }
    return found;
  }();
  return infos;
}

base::Result<TableReport> writeTable(const std::filesystem::path& run, std::string_view table,
                                     const std::filesystem::path& file, const Selection& selection,
                                     const Progress& progress) {
  const auto chosen = std::find_if(all().begin(), all().end(),
                                   [&](const Table& one) { return one.info.name == table; });
  if (chosen == all().end()) {
    std::string names;
    for (const TableInfo& one : tables()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    }
    return base::Error{base::ExitCode::kBadInput, "is no table; there are " + names,
                       fmt::format("\"{}\"", table)};
  }
  // Only tables of the analysis keep the spans; the others read the file a second time, block by
  // block.
  const auto surveyed = LOCKSTEP_TRY(survey(run, selection, chosen->depth, progress));
  auto output = LOCKSTEP_TRY(OutputFile::create(file));
  const auto rows = LOCKSTEP_TRY(chosen->write({surveyed, progress}, *output));
  if (!goesOn(progress, 1)) {
    return interrupted();
  }
  LOCKSTEP_TRY(output->commit());
  return TableReport{rows, output->bytes()};
}

}  // namespace lockstep::exports
