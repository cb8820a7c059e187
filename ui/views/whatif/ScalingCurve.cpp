#include "ui/views/whatif/ScalingCurve.h"

#include <algorithm>
#include <utility>

#include "engine/experiment/LinkPresets.h"
#include "engine/simulate/RecordedQuestion.h"
#include "engine/simulate/ScalingText.h"
#include "ui/model/Format.h"
#include "ui/views/whatif/WhatIfWords.h"

namespace lockstep::ui {
namespace {

constexpr int kMostRanks = 4096;
constexpr double kNsPerUs = 1000;
constexpr double kBits = 8;  // a Gbit/s is a bit a nanosecond

/// Where the wanted link is another one.
void takeLink(const diagnosis::WantedChange& wanted, const experiment::LinkConfig& own,
              simulate::ScalingQuestion& question, ScalingCurve& curve) {
  if (const auto* preset = experiment::findLinkPreset(wanted.link)) {
    question.link = {preset->latencyUs() * kNsPerUs, kBits / preset->bandwidthGbps()};
    curve.link = QString::fromStdString(preset->what);
  } else if (wanted.bandwidthGbps) {
    const auto* before = experiment::findLinkPreset(own.preset);
    const double latencyUs = before != nullptr ? before->latencyUs() : own.latencyUs;
    question.link = {latencyUs * kNsPerUs, kBits / *wanted.bandwidthGbps};
    curve.link = said("%1 Gbit/s").arg(*wanted.bandwidthGbps);
  }
}

}  // namespace

const simulate::RanksForecast* ScalingCurve::of(int ranks) const {
  const auto at = std::find_if(rows.begin(), rows.end(),
                               [ranks](const auto& row) { return row.ranks == ranks; });
  return at == rows.end() ? nullptr : &*at;
}

std::vector<int> scaledRanks(int recorded) {
  if (recorded >= kMostRanks) {
    return {};
  }
  // Powers of two, as machines have them, and never the recorded number itself.
  int first = 2;
  while (first <= recorded) {
    first *= 2;
  }
  return simulate::doublings(first, kMostRanks);
}

ScalingCurve scalingCurve(const WhatIfRun& run, const diagnosis::WantedChange& wanted,
                          simulate::Algorithm algorithm) {
  ScalingCurve curve;
  curve.algorithm = algorithm;
  if (!run.recorded.ok()) {
    curve.whyNot = cannotTellSentence(run.recorded.error());
    return curve;
  }
  const analysis::RecordedSteps& recorded = run.recorded.value();
  curve.recorded = recorded.settings.worldSize;
  simulate::ScalingQuestion question = simulate::questionOf(recorded, run.ranks);
  question.ranks = scaledRanks(curve.recorded);
  question.algorithm = algorithm;
  if (question.ranks.empty()) {
    curve.whyNot = said("This run has as many ranks as are simulated.");
    return curve;
  }
  takeLink(wanted, recorded.settings.experiment.link, question, curve);
  const auto made = simulate::Scaling::make(std::move(question));
  if (!made.ok()) {
    curve.whyNot = cannotTellSentence(made.error());
    return curve;
  }
  const simulate::Scaling& scaling = made.value();
  auto rows = scaling.forecast();
  curve.steps = scaling.recorded().steps;
  curve.measured = scaling.measured();
  curve.tail = QString::fromStdString(simulate::tailText(scaling, rows));
  curve.rows = simulate::rowsFromOwn(scaling, std::move(rows));
  curve.breaks = simulate::breakingPoint(curve.rows, scaling.question().efficiency);
  return curve;
}

QString scalingWords(const ScalingCurve& curve) {
  if (!curve.known()) {
    return curve.whyNot;
  }
  const QString link = curve.link.isEmpty() ? said("its own link") : curve.link;
  QString words =
      said(
          "More ranks than the %1 of the run are extrapolated, from %2 iterations on %3, "
          "as it was but for that. ")
          .arg(curve.recorded)
          .arg(curve.steps)
          .arg(link) +
      QString::fromStdString(simulate::breakingText(curve.breaks, curve.rows));
  return curve.tail.isEmpty() ? words : words + QLatin1Char(' ') + curve.tail;
}

QString rankWords(const ScalingCurve& curve, int ranks) {
  const simulate::RanksForecast* of = curve.of(ranks);
  return of == nullptr
             ? QString()
             : said(
                   "On %1, extrapolated, a step would take %2, of which %3 are exposed, at an "
                   "efficiency of %4, bound by %5.")
                   .arg(formatCounted(static_cast<std::uint64_t>(ranks), "rank"), shown(of->stepNs),
                        shown(of->exposedNs), shown(simulate::efficiencyText(of->efficiency)),
                        shown(simulate::name(of->bound)));
}

}  // namespace lockstep::ui
