#include "ui/views/divergence/GrowingStrips.h"

#include <cmath>
#include <limits>
#include <utility>

namespace lockstep::ui {
namespace {

using Curves = std::map<int, StepSeries>;

bool addPoint(Curves& curves, int rank, const SeriesPoint& point) {
  return curves.try_emplace(rank, rank).first->second.add(point);
}

void addStrip(std::vector<StripData>& strips, StripData::Kind kind, const Curves& curves,
              bool fromHook = false) {
  if (curves.empty()) {
    return;
  }
  StripData& strip = strips.emplace_back();
  strip.kind = kind;
  strip.fromHook = fromHook;
  for (const auto& [rank, series] : curves) {
    strip.series.push_back(series);
  }
}

}  // namespace

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
std::vector<StripData> GrowingStrips::refresh(
    const run::Grown<trace::MetricRow>& losses, const analysis::Divergence& divergence,
    const analysis::DivergenceParts& closed,
    const std::map<int, std::vector<MetricPoint>>& hookDistances) {
  addLosses(losses);
  samples_.add(divergence, std::exchange(closed_, closed), closed);
  Samples all = samples_;
  all.add(divergence, closed,
          {divergence.replicas.steps.size(), divergence.consensus.size(),
           divergence.gradientNorms.size(), divergence.findings.size()});
  const bool fromHook = all.distances.empty();
  if (fromHook) {
    for (const auto& [rank, points] : hookDistances) {
      std::vector<SeriesPoint> distances;
      for (const MetricPoint& point : points) {
        distances.push_back({point.step, std::sqrt(point.value)});
      }
      all.distances.emplace(rank, StepSeries(rank, std::move(distances)));
    }
  }
  std::vector<StripData> strips;
  addStrip(strips, StripData::Kind::kLoss, losses_);
  addStrip(strips, StripData::Kind::kGradientNorm, all.gradients);
  addStrip(strips, StripData::Kind::kConsensus, all.distances, fromHook);
  return strips;
}

void GrowingStrips::addLosses(const run::Grown<trace::MetricRow>& losses) {
  bool inOrder = true;
  for (; lossRows_ < losses.size(); ++lossRows_) {
    const trace::MetricRow& loss = losses[lossRows_];
    inOrder = addPoint(losses_, loss.rank, {loss.step, loss.value}) && inOrder;
  }
  if (inOrder) {
    return;
  }
  // A run that was resumed takes some steps again.
  std::map<int, std::vector<SeriesPoint>> all;
  for (const trace::MetricRow& loss : losses) {
    all[loss.rank].push_back({loss.step, loss.value});
  }
  for (auto& [rank, points] : all) {
    losses_.insert_or_assign(rank, StepSeries(rank, std::move(points)));
  }
}

void GrowingStrips::Samples::add(const analysis::Divergence& divergence,
                                 const analysis::DivergenceParts& from,
                                 const analysis::DivergenceParts& to) {
  for (std::size_t at = from.gradientNorms; at < to.gradientNorms; ++at) {
    const analysis::GradientNormSample& sample = divergence.gradientNorms[at];
    for (std::size_t i = 0; i < sample.ranks.size(); ++i) {
      addPoint(gradients, sample.ranks[i], {sample.step, sample.norms[i]});
    }
  }
  // Gradients that are not finite have no norm: the samples leave them out, the strip says so.
  for (std::size_t at = from.findings; at < to.findings; ++at) {
    const analysis::SanityFinding& finding = divergence.findings[at];
    addPoint(gradients, finding.rank, {finding.step, std::numeric_limits<double>::quiet_NaN()});
  }
  for (std::size_t at = from.consensus; at < to.consensus; ++at) {
    const analysis::ConsensusSample& sample = divergence.consensus[at];
    for (std::size_t i = 0; i < sample.ranks.size() && i < sample.distances.size(); ++i) {
      addPoint(distances, sample.ranks[i], {sample.step, sample.distances[i]});
    }
  }
}

}  // namespace lockstep::ui
