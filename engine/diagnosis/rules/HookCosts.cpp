#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

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
  std::map<std::uint32_t, double> beyondMs;
  // Plain allreduces may all hide behind the backward pass, and what the hook works keeps a core
  // from computing: so all of its time may be saved.
  std::map<std::uint32_t, double> saveableMs;
  Sum mean;
  for (const auto& [number, ranks] : steps) {
    Sum of;
    for (const auto& [rank, sum] : ranks) {
      of.workMs += sum.workMs / static_cast<double>(ranks.size());
      of.transferMs += sum.transferMs / static_cast<double>(ranks.size());
    }
    beyondMs[number] = of.workMs + of.transferMs - *plain;
    saveableMs[number] = of.workMs + of.transferMs;
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
      "It works {:.2f} ms a step and moves its data in {:.2f} ms; plain allreduces of the same "
      "buckets would move theirs in {:.2f} ms over this link.",
      mean.workMs, mean.transferMs, *plain);
  finding.remedy = "Take the plain allreduce here: hook.name = \"allreduce\".";
  finding.settings = {{"hook.name", "\"allreduce\""}};
  finding.place.step = beyond.largest();
  finding.savingMs = savingOfTime(evidence, *saveable);
  finding.atMost = true;
  return {finding};
}

}  // namespace lockstep::diagnosis
