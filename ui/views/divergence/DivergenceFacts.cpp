#include "ui/views/divergence/DivergenceFacts.h"

#include <algorithm>
#include <utility>

namespace lockstep::ui {
namespace {

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
  if (const auto& samples = facts.divergence.replicas.steps; !samples.empty()) {
    see(samples.front());
    see(samples.back());
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
  if (divergence_.closedBefore() != closed_) {  // all was made anew
    hashes_ = HeatPyramid(HeatMeasure::kHashes);
    norms_ = HeatPyramid(HeatMeasure::kNorms);
    strips_ = {};
  }
  closed_ = divergence_.closed();
  const analysis::ReplicaMatrix& replicas = facts->divergence.replicas;
  hashes_.add(replicas, closed_.samples);
  norms_.add(replicas, closed_.samples);
  facts->hashes = hashes_.with(replicas);
  facts->norms = norms_.with(replicas);
  facts->strips =
      strips_.refresh(facts->data().losses, facts->divergence, closed_, input.hookDistances);
  findSteps(*facts);
  facts->sequences = sequences_.refresh(facts->data(), facts->run->analysis, facts->complete);
  facts->firstMismatch = analysis::firstMismatch(facts->sequences);
  return facts;
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
