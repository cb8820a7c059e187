#pragma once

#include "engine/export/Csv.h"
#include "engine/export/Survey.h"

namespace lockstep::exports {

/// What a table is made of.
struct TableSource {
  const Survey& survey;
  const Progress& progress;

  /// Since the origin of the run's clock: as the studio shows times, whatever is selected.
  [[nodiscard]] double ns(std::uint64_t ticks) const {
    const auto delta = static_cast<std::int64_t>(ticks - survey.clock.originTicks);
    return static_cast<double>(delta) * survey.clock.nsPerTick;
  }
  [[nodiscard]] double ms(std::uint64_t ticks) const { return ns(ticks) / 1e6; }
  /// Whether a row of this iteration is selected.
  [[nodiscard]] bool holds(std::uint32_t step) const { return survey.holds(step); }
  /// Whether a row of this rank in this iteration is selected.
  [[nodiscard]] bool holds(int rank, std::uint32_t step) const {
    return survey.selection.holdsRank(rank) && survey.holds(step);
  }
  /// Asked between the parts of an analysis, and for each row: it asks `progress` every few
  /// thousand. False: the export ends here.
  [[nodiscard]] bool goesOn() const { return exports::goesOn(progress, kAnalysedPart); }
  [[nodiscard]] bool goesOn(const Csv& csv) const {
    return csv.rows() % kRowsBetween != 0 || goesOn();
  }

 private:
  static constexpr double kAnalysedPart = 0.7;
  static constexpr std::uint64_t kRowsBetween = 4'096;
};

using WriteTable = base::Result<std::uint64_t> (*)(const TableSource& source, OutputFile& file);

// Each writes titles and rows, and returns how many rows. Those in the first block read the file
// once more, row by row; the others need `survey.data`.
base::Result<std::uint64_t> writeEvents(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeStatistics(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeCounters(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeLoss(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeParameters(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeBuckets(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeFingerprints(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeGradients(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeLog(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeProblems(const TableSource& source, OutputFile& file);

base::Result<std::uint64_t> writeSteps(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeOverlap(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeTail(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeRanks(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeCollectives(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeHooks(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeDivergence(const TableSource& source, OutputFile& file);
base::Result<std::uint64_t> writeCalls(const TableSource& source, OutputFile& file);

}  // namespace lockstep::exports
