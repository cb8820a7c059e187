#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "engine/analysis/RunCores.h"
#include "engine/base/NumberText.h"
#include "engine/cost/LinkSettings.h"
#include "engine/cost/Probe.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {
namespace {

/// What plain allreduces of the run's buckets would take, one after the other; none: neither its
/// link's settings nor its probe say what a byte takes.
std::optional<double> plainMs(const Evidence& evidence) {
  const auto rank = std::find_if(evidence.ranks.begin(), evidence.ranks.end(),
                                 [](const trace::RankInfo& of) { return of.rank == 0; });
  std::string probe;
  if (rank != evidence.ranks.end()) {
    const auto text = rank->environment.find("probe");
    probe = text == rank->environment.end() ? "" : text->second;
  }
  const auto known = evidence.experiment->link.shapes()
                         ? cost::knownTransfer(cost::linkOptions(evidence.experiment->link),
                                               evidence.info.worldSize)
                         : std::nullopt;
  const auto samples = cost::probesFrom(probe);
  const auto fit = cost::fitTransfers(samples, known);
  if (!fit.ok() || evidence.data.layouts.empty()) {
    return std::nullopt;
  }
  double ns = 0;
  for (const auto& bucket : evidence.data.layouts.back().buckets) {
    ns += fit.value().cost.ns(bucket.bytes);
  }
  return ns / 1e6;
}

/// How long a step is held up at most by a hook's work of `workMs` on each rank, where its threads
/// take cores that the rest of the run wants; no span of the hook holds that (Note [Where cores are
/// short]).
double heldUpMs(const std::optional<cost::Cores>& cores, double stepMs, double workMs) {
  if (!cores) {
    return 0;
  }
  const double besides = cores->busy * stepMs - cores->ranks * workMs;
  constexpr double kNsPerMs = 1e6;
  return cost::heldUpNs(*cores, kNsPerMs * stepMs, kNsPerMs * besides, kNsPerMs * workMs) /
         kNsPerMs;
}

}  // namespace

std::vector<Finding> judgeHook(const Evidence& evidence) {
  if (!evidence.experiment || evidence.experiment->hook.isOwn()) {
    return {};
  }
  const auto plain = plainMs(evidence);
  if (!plain) {
    return {};
  }
  // Its work on a bucket keeps the buckets after it waiting, as a transfer does.
  struct Sum {
    double workMs = 0;
    double transferMs = 0;
  };
  std::map<std::uint32_t, std::map<int, Sum>> steps;
  for (const analysis::HookCall& call : evidence.hook.calls) {
    Sum& sum = steps[call.step][call.rank];
    sum.workMs += call.of(analysis::HookPhase::kEncode) + call.of(analysis::HookPhase::kDecode);
    sum.transferMs += call.of(analysis::HookPhase::kTransfer);
  }
  const auto cores = analysis::coresOf(evidence.data, evidence.info, evidence.ranks);
  double heldUp = 0;
  std::map<std::uint32_t, double> beyondMs;
  // Plain allreduces may all hide behind the backward pass, and what the hook works keeps a core
  // from computing: so all of its time may be saved, and all of what it holds up besides. That is
  // between nothing and what the bound by work says: half of it counts as its cost.
  std::map<std::uint32_t, double> saveableMs;
  Sum mean;
  for (const auto& [number, ranks] : steps) {
    Sum of;
    for (const auto& [rank, sum] : ranks) {
      of.workMs += sum.workMs / static_cast<double>(ranks.size());
      of.transferMs += sum.transferMs / static_cast<double>(ranks.size());
    }
    const double held = heldUpMs(cores, evidence.stepMs, of.workMs);
    heldUp += held / static_cast<double>(steps.size());
    beyondMs[number] = of.workMs + of.transferMs + held / 2 - *plain;
    saveableMs[number] = of.workMs + of.transferMs + held;
    mean.workMs += of.workMs / static_cast<double>(steps.size());
    mean.transferMs += of.transferMs / static_cast<double>(steps.size());
  }
  const StepValues beyond(beyondMs);
  const auto interval = cost::meanInterval(beyond.values, kIntervalTail);
  const auto saveable = cost::meanInterval(StepValues(saveableMs).values, kIntervalTail);
  if (!interval || !saveable || interval->low < kWorthSpeakingOf * evidence.stepMs) {
    return {};
  }
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title =
      fmt::format("the hook {} costs more than it saves", evidence.experiment->hook.name);
  finding.sentence = fmt::format(
      "It works {} ms a step and moves its data in {} ms; plain allreduces of the same "
      "buckets would move theirs in {} ms over this link.",
      base::msText(mean.workMs), base::msText(mean.transferMs), base::msText(*plain));
  if (heldUp > 0) {
    finding.sentence += fmt::format(
        " The ranks share {:g} cores, too few for its threads beside all else: the step may "
        "take up to {} ms more, which none of its spans holds.",
        cores->count, base::msText(heldUp));
  }
  finding.remedy = "Take the plain allreduce here: hook.name = \"allreduce\".";
  finding.settings = {{"hook.name", "\"allreduce\""}};
  finding.place.step = beyond.largest();
  finding.savingMs = savingOfTime(evidence, *saveable);
  finding.atMost = true;
  return {finding};
}

}  // namespace lockstep::diagnosis
