#pragma once

#include <QString>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/analysis/BucketDelays.h"
#include "engine/diagnosis/CostliestBucket.h"
#include "ui/model/RunAnalyser.h"

namespace lockstep::ui {

/// What a cell of rank by bucket may show, in ms a step.
enum class CellFigure : std::uint8_t {
  kCost,     ///< by which the headline names a bucket: Note [What a bucket costs]
  kExposed,  ///< a moment counts for each bucket that is in flight then
  kLateness,
  kDuration,  ///< waiting and transfer
  kWaiting,
  kTransfer,
};
inline constexpr std::size_t kCellFigures = 6;

/// Which iterations a cell is about: the measured ones, or a single one.
enum class CellScope : std::uint8_t { kMean, kMedian, kStep };

/// What all cells show.
struct CellChoice {
  CellFigure figure = CellFigure::kCost;
  CellScope scope = CellScope::kMean;
  std::uint32_t step = 0;  ///< of kStep
};

/// What Overlap shows of rank by bucket; never changed once made, so any thread may read it.
struct BucketContent {
  /// A figure over the measured iterations of a bucket of a rank.
  struct Measured {
    std::optional<double> meanMs;  ///< none: unknown, here and below
    std::optional<double> medianMs;
    std::optional<std::uint32_t> worst;  ///< index into BucketCell::samples
  };
  using Cell = std::array<Measured, kCellFigures>;
  /// A row of the picture: a rank, or ranks that look the same.
  struct Row {
    std::vector<std::size_t> ranks;  ///< indices into BucketDelays::ranks
    bool unlike = false;             ///< unlike the rest of the run
  };

  analysis::BucketDelays delays;
  std::vector<Cell> cells;  ///< as BucketDelays::cells
  std::vector<Row> each;    ///< a row a rank
  std::vector<Row> alike;   ///< of many ranks: those unlike the rest, then those that are alike
  std::vector<std::uint64_t> bytes;  ///< of each bucket, by the last layout
  QString headline;  ///< as OverlapContent has it
  diagnosis::BucketVerdict verdict;
  QString empty;  ///< why there is nothing to show, in a sentence; else empty
  QString note;   ///< what is special about its buckets; mostly empty
  std::uint32_t firstMeasured = 0;
  std::uint32_t lastStep = 0;

  [[nodiscard]] const std::vector<Row>& rows(bool folded) const { return folded ? alike : each; }
  [[nodiscard]] const Cell& cell(std::size_t rank, int bucket) const {
    return cells[rank * static_cast<std::size_t>(delays.buckets) +
                 static_cast<std::size_t>(bucket)];
  }
  /// In ms; nothing: unknown.
  [[nodiscard]] std::optional<double> valueOf(std::size_t rank, int bucket,
                                              const CellChoice& choice) const;
  /// The same of a row: of ranks that are alike the middle one of their values.
  [[nodiscard]] std::optional<double> valueOf(const Row& row, int bucket,
                                              const CellChoice& choice) const;
  /// Of a row the rank that has most.
  [[nodiscard]] std::size_t mostOf(const Row& row, int bucket, const CellChoice& choice) const;
  /// The step's sample, or, of all measured ones, that with most of the figure. Null: none.
  [[nodiscard]] const analysis::BucketSample* sampleOf(std::size_t rank, int bucket,
                                                       const CellChoice& choice) const;
  /// The row of a rank, by its number; nothing: it has none.
  [[nodiscard]] std::optional<std::size_t> rowOf(int rank, bool folded) const;
  /// The index of a rank.
  [[nodiscard]] std::optional<std::size_t> indexOf(int rank) const;
};

QString titleOf(CellFigure figure);    ///< "Arrival lateness", ...
QString meaningOf(CellFigure figure);  ///< a sentence
QString termOf(CellFigure figure);     ///< what the glossary has on it
/// What a sample says of a figure; nothing: unknown.
std::optional<double> figureOf(const analysis::BucketSample& sample, CellFigure figure);
/// Whether values of several buckets or ranks add up: a rank that is late is so to all that follow.
bool addsUp(CellFigure figure);

/// Takes as long as a sort of the run's collectives. [any-thread]
std::shared_ptr<const BucketContent> bucketContent(const AnalysedRun& run);
/// The same where they are measured. [any-thread]
std::shared_ptr<const BucketContent> bucketContent(const AnalysedRun& run,
                                                   analysis::BucketDelays delays);

/// The same of a run that grows. [any-thread]
class GrowingBucketContent {
 public:
  /// `run` goes on with that of the last call.
  std::shared_ptr<const BucketContent> refresh(const AnalysedRun& run);

 private:
  std::mutex mutex_;
  analysis::GrowingBucketDelays delays_;
};

}  // namespace lockstep::ui
