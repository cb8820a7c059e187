#include "engine/analysis/Landscape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "engine/analysis/MissedArrivals.h"

namespace lockstep::analysis {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

/// Fills a landscape, a step or a figure at a time.
class Filling {
 public:
  Filling(const RunAnalysis& run, const StepRange& steps) : run_(run) {
    for (const auto& [rank, rows] : run.stepRows.lists()) {
      table_.ranks.push_back(rank);
    }
    table_.steps = steps;
    const std::uint32_t count = steps.end > steps.first ? steps.end - steps.first : 0;
    while ((count + table_.stepsAColumn - 1) / table_.stepsAColumn > Landscape::kMostColumns) {
      table_.stepsAColumn *= 2;
    }
    table_.columns = (count + table_.stepsAColumn - 1) / table_.stepsAColumn;
  }

  void addSteps() {
    eachFrom(run_.stepRows, table_.steps.first, [&](const StepTicks& step) {
      // What was recorded of a step with gaps is less than what it was.
      if (!step.incomplete) {
        const std::size_t rank = placeOf(step.rank);
        table_.add(RankFigure::kStep, rank, step.step, ms(step.duration()));
        table_.add(RankFigure::kComputing, rank, step.step, ms(step.computing));
        table_.add(RankFigure::kExposed, rank, step.step, ms(step.exposed()));
      }
    });
  }

  void addCollectives() {
    const std::size_t ranks = table_.ranks.size();
    std::vector<std::uint64_t> transfer(ranks);
    std::vector<std::uint64_t> caused(ranks);
    std::map<std::uint32_t, std::vector<const CollectiveTimes*>> bySteps;
    eachFrom(run_.collectives, table_.steps.first, [&](const CollectiveTimes& collective) {
      if (table_.steps.contains(collective.step)) {
        bySteps[collective.step].push_back(&collective);
      }
    });
    for (const auto& [step, ofStep] : bySteps) {
      std::fill(transfer.begin(), transfer.end(), 0);
      std::fill(caused.begin(), caused.end(), 0);
      bool known = true;
      for (const CollectiveTimes* collective : ofStep) {
        known = known && collective->complete;
        std::uint64_t waiting = 0;
        for (const Arrival& arrival : collective->arrivals) {
          waiting += arrival.waitingTicks();
          if (const std::size_t rank = placeOf(arrival.rank); rank < ranks) {
            transfer[rank] += arrival.transferTicks();
          }
        }
        if (collective->lastRank) {
          if (const std::size_t rank = placeOf(*collective->lastRank); rank < ranks) {
            caused[rank] += waiting;
          }
        }
      }
      for (std::size_t rank = 0; known && rank < ranks; ++rank) {
        table_.add(RankFigure::kTransfer, rank, step, ms(transfer[rank]));
        table_.add(RankFigure::kCaused, rank, step, ms(caused[rank]));
      }
      if (const auto missed = missedArrivals(ofStep, Doubtful::kCounted)) {
        for (const auto& [rank, ticks] : *missed) {
          table_.add(RankFigure::kLate, placeOf(rank), step, ms(ticks));
        }
      }
    }
  }

  void addReplicas(const ReplicaMatrix& replicas) {
    for (std::size_t sample = 0; sample < replicas.steps.size(); ++sample) {
      for (std::size_t rank = 0; rank < replicas.ranks.size(); ++rank) {
        std::size_t known = 0;
        std::size_t differing = 0;
        for (std::size_t parameter = 0; parameter < replicas.parameters; ++parameter) {
          const std::uint8_t of = replicas.classes[replicas.at(sample, parameter, rank)];
          known += of == ReplicaMatrix::kAbsent ? 0 : 1;
          differing += of == ReplicaMatrix::kAbsent || of == 0 ? 0 : 1;
        }
        if (known > 0) {
          table_.add(RankFigure::kDiffering, placeOf(replicas.ranks[rank]), replicas.steps[sample],
                     static_cast<float>(differing));
        }
      }
    }
  }

  Landscape take() && { return std::move(table_); }

 private:
  [[nodiscard]] float ms(std::uint64_t ticks) const {
    return static_cast<float>(static_cast<double>(ticks) * run_.nsPerTick / 1e6);
  }

  /// Rows and arrivals come by rank, so that the place is most often that of the one before or the
  /// next. The number of ranks where a rank has no step.
  std::size_t placeOf(int rank) {
    const std::vector<int>& ranks = table_.ranks;
    if (last_ + 1 < ranks.size() && ranks[last_ + 1] == rank) {
      ++last_;
    } else if (last_ >= ranks.size() || ranks[last_] != rank) {
      last_ = table_.indexOf(rank).value_or(ranks.size());
    }
    return last_;
  }

  const RunAnalysis& run_;
  Landscape table_;
  std::size_t last_ = 0;
};

}  // namespace

std::optional<std::size_t> Landscape::indexOf(int rank) const {
  const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() || *found != rank
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - ranks.begin()));
}

std::optional<std::size_t> Landscape::columnOf(std::uint32_t step) const {
  return steps.contains(step) ? std::optional<std::size_t>((step - steps.first) / stepsAColumn)
                              : std::nullopt;
}

void Landscape::add(RankFigure figure, std::size_t rankIndex, std::uint32_t step, float value) {
  const auto column = columnOf(step);
  if (!column || rankIndex >= ranks.size()) {
    return;
  }
  std::vector<float>& of = values[static_cast<std::size_t>(figure)];
  if (of.empty()) {
    of.assign(ranks.size() * columns, kUnknown);
  }
  float& cell = of[rankIndex * columns + *column];
  cell = std::isnan(cell) ? value : std::max(cell, value);
}

StepRange allSteps(const RunAnalysis& run) {
  StepRange all{std::numeric_limits<std::uint32_t>::max(), 0};
  for (const auto& [rank, rows] : run.stepRows.lists()) {
    all.first = std::min(all.first, rows[0].step);
    all.end = std::max(all.end, rows[rows.size() - 1].step + 1);
  }
  return all.end == 0 ? StepRange{} : all;
}

Landscape landscape(const RunAnalysis& run, const StepRange& steps, const ReplicaMatrix* replicas) {
  Filling filling(run, steps);
  filling.addSteps();
  filling.addCollectives();
  if (replicas != nullptr) {
    filling.addReplicas(*replicas);
  }
  return std::move(filling).take();
}

}  // namespace lockstep::analysis
