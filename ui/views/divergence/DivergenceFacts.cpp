#include "ui/views/divergence/DivergenceFacts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ui/model/LaneSearch.h"

namespace lockstep::ui {
namespace {

using ByRank = std::map<int, std::vector<SeriesPoint>>;

void addStrip(DivergenceFacts& facts, StripData::Kind kind, ByRank points, bool fromHook = false) {
  StripData strip;
  strip.kind = kind;
  strip.fromHook = fromHook;
  for (auto& [rank, series] : points) {
    strip.series.emplace_back(rank, std::move(series));
  }
  if (!strip.series.empty()) {
    facts.strips.push_back(std::move(strip));
  }
}

// Note [Strips]
//
// Three measures over the iterations, a line a rank, each only where the run has it:
//
// - loss, as each rank recorded it;
// - gradient norm, of the rank's own gradients before they are averaged;
// - consensus distance, from a rank's parameters to the mean of all.
//
// The consensus distance is found from sketches of the parameters (Note [Replicas]). A run without
// fingerprints may have an averaging hook that measures the distance itself; then it is the hook's,
// and the strip says so. The two are never mixed: a sketch has an error, and the hook measures at
// other moments.
void addStrips(DivergenceFacts& facts,
               const std::map<int, std::vector<MetricPoint>>& hookDistances) {
  ByRank losses;
  for (const trace::MetricRow& loss : facts.data().losses) {
    losses[loss.rank].push_back({loss.step, loss.value});
  }
  addStrip(facts, StripData::Kind::kLoss, std::move(losses));
  ByRank gradients;
  for (const analysis::GradientNormSample& sample : facts.divergence.gradientNorms) {
    for (std::size_t i = 0; i < sample.ranks.size(); ++i) {
      gradients[sample.ranks[i]].push_back({sample.step, sample.norms[i]});
    }
  }
  // Gradients that are not finite have no norm: the samples leave them out, the strip says so.
  for (const analysis::SanityFinding& finding : facts.divergence.findings) {
    gradients[finding.rank].push_back({finding.step, std::numeric_limits<double>::quiet_NaN()});
  }
  addStrip(facts, StripData::Kind::kGradientNorm, std::move(gradients));
  ByRank distances;
  for (const analysis::ConsensusSample& sample : facts.divergence.consensus) {
    for (std::size_t i = 0; i < sample.ranks.size() && i < sample.distances.size(); ++i) {
      distances[sample.ranks[i]].push_back({sample.step, sample.distances[i]});
    }
  }
  const bool fromHook = distances.empty();
  if (fromHook) {
    for (const auto& [rank, points] : hookDistances) {
      for (const MetricPoint& point : points) {
        distances[rank].push_back({point.step, std::sqrt(point.value)});
      }
    }
  }
  addStrip(facts, StripData::Kind::kConsensus, std::move(distances), fromHook);
}

void findSteps(DivergenceFacts& facts) {
  std::uint32_t first = ~std::uint32_t{0};
  std::uint32_t last = 0;
  const auto see = [&](std::uint32_t step) {
    first = std::min(first, step);
    last = std::max(last, step);
  };
  for (const auto& [rank, steps] : facts.run->analysis.stepRows.lists()) {
    see(steps[0].step);
    see(steps.back().step);
  }
  for (const StripData& strip : facts.strips) {
    for (const StepSeries& series : strip.series) {
      if (!series.pieces().empty()) {
        see(series.pieces().front().step);
        see(series.pieces().back().step);
      }
    }
  }
  for (const std::uint32_t step : facts.divergence.replicas.steps) {
    see(step);
  }
  // Nothing by iteration at all: both are 0.
  facts.firstStep = std::min(first, last);
  facts.lastStep = last;
}

}  // namespace

FactsInput factsInput(const RunModel& model, std::shared_ptr<const AnalysedRun> run) {
  FactsInput input;
  input.run = std::move(run);
  input.complete = analysis::recordedToItsEnd(model.info());
  input.observed = model.info().kind != trace::RunKind::kExperiment;
  input.driftingHook = QString::fromStdString(model.info().driftingHook);
  for (int rank = 0; rank < model.rankCount(); ++rank) {
    const auto& points = model.metric("hook.distance_squared", rank);
    if (!points.empty()) {
      input.hookDistances[rank] = points;
    }
  }
  return input;
}

std::shared_ptr<const DivergenceFacts> divergenceFacts(FactsInput input) {
  return GrowingDivergenceFacts().refresh(std::move(input));
}

std::shared_ptr<const DivergenceFacts> GrowingDivergenceFacts::refresh(FactsInput input) {
  const std::lock_guard lock(mutex_);
  auto facts = std::make_shared<DivergenceFacts>();
  facts->run = std::move(input.run);
  facts->complete = input.complete;
  facts->observed = input.observed;
  // Files before 1.4 do not say that replicas drift; a hook that counts how far they do tells.
  facts->drifts = !input.driftingHook.isEmpty() || !input.hookDistances.empty();
  facts->hook = input.driftingHook;
  facts->divergence = divergence_.refresh(facts->data(), facts->run->analysis);
  const std::size_t kept = divergence_.keptSamples();
  hashes_.goOn(facts->divergence.replicas, HeatMeasure::kHashes, kept);
  norms_.goOn(facts->divergence.replicas, HeatMeasure::kNorms, kept);
  facts->hashes = hashes_;
  facts->norms = norms_;
  addStrips(*facts, input.hookDistances);
  findSteps(*facts);
  facts->sequences = sequences_.refresh(facts->data(), facts->run->analysis, facts->complete);
  facts->firstMismatch = analysis::firstMismatch(facts->sequences);
  facts->delays = delays_.refresh(facts->data(), facts->run->analysis);
  return facts;
}

std::optional<Span> spanOf(const RunModel& model, int rank, const trace::SpanRow& row) {
  const double middleNs =
      model.toNs(row.startTicks) + static_cast<double>(row.durationTicks) * model.nsPerTick() / 2;
  // By the middle, which no rounding of ticks to ns puts into a neighbour.
  return spanInLane(
      model, laneId(rank, laneRoleOf(row.kind)), middleNs,
      [&](const Span& span) { return span.id == row.id; }, 2 * model.nsPerTick());
}

QString nameOfOperation(const trace::SpanRow& call) {
  const std::string_view name = trace::name(trace::operationOf(call.detail));
  return QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
}

QString nameOfParameter(const DivergenceFacts& facts, std::size_t parameter) {
  const auto& all = facts.data().parameters;
  return parameter < all.size() ? QString::fromStdString(all[parameter].name)
                                : QStringLiteral("parameter %1").arg(parameter);
}

}  // namespace lockstep::ui
