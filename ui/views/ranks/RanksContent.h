#pragma once

#include <QString>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/analysis/Landscape.h"
#include "engine/analysis/LastRanks.h"
#include "engine/diagnosis/UnlikeRanks.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

using analysis::RankFigure;

/// What a figure is called, what it means, and a value of it.
QString titleOf(RankFigure figure);
QString definitionOf(RankFigure figure);
QString textOf(RankFigure figure, double value);

/// How the rows of the map stand: by number; the largest mean of the figure first; by host; or
/// those that look the same as one row, and the others after it.
enum class RankOrder : std::uint8_t { kNumber, kFigure, kHost, kAlike };

/// What the landscape of a run's ranks shows; never changed once made. [any-thread]
struct RanksContent {
  /// A figure over the measured steps.
  struct OfFigure {
    std::vector<float> means;  ///< by rank index; NaN: unknown
    float low = 0;             ///< what the map's colours reach from
    float high = 1;            ///< and to; few cells are beyond
  };

  analysis::Landscape table;
  diagnosis::RankLikeness likeness;
  analysis::LastRanks last;
  std::vector<QString> hosts;     ///< names, by rank index
  std::vector<int> hostNumbers;   ///< likewise
  std::size_t firstMeasured = 0;  ///< column
  std::array<OfFigure, analysis::kRankFigures> figures;

  [[nodiscard]] const OfFigure& of(RankFigure figure) const {
    return figures[static_cast<std::size_t>(figure)];
  }
  /// The column in which a rank has most of a figure, warm-up left out; 0 where it has none.
  [[nodiscard]] std::size_t worstColumn(RankFigure figure, std::size_t rank) const;
};

/// Says which rank was the last most often, and how often; empty where that is not known.
QString lastMostOften(const analysis::LastRanks& last);

/// What a run says of itself that the analysis does not hold.
struct RanksOfRun {
  struct Memory {
    int rank = 0;
    std::uint32_t step = 0;
    float mib = 0;
  };
  std::vector<trace::HostState> hosts;
  std::vector<Memory> memory;
};
/// [ui-thread]
RanksOfRun ranksOfRun(const RunModel& model);

std::shared_ptr<const RanksContent> ranksContent(const AnalysedRun& run, const RanksOfRun& ranks);

/// The rows of the map from its top, as rank indices. Only kAlike has several in a row.
std::vector<std::vector<std::size_t>> rankRows(const RanksContent& content, RankFigure figure,
                                               RankOrder order);

/// What the figure is of that a kind of unlikeness is seen in.
RankFigure figureOf(diagnosis::Unlikeness kind);

}  // namespace lockstep::ui
