#include <fmt/format.h>

#include "engine/base/NumberText.h"
#include "engine/report/RunReport.h"

namespace lockstep::report {
namespace {

std::string nameOf(const RunReport& report, std::size_t parameter) {
  return parameter < report.parameters.size() ? report.parameters[parameter].name
                                              : fmt::format("parameter {}", parameter);
}

/// How far all replicas were apart when they were last measured; empty: that is not recorded.
std::string distanceText(const analysis::Divergence& divergence) {
  if (divergence.consensus.empty()) {
    return "";
  }
  const analysis::ConsensusSample* const last = divergence.lastOfAll();
  if (last == nullptr) {
    return fmt::format("; at step {} not all are known and finite",
                       divergence.replicas.steps.back());
  }
  if (last->spread == 0) {
    return fmt::format("; equal again at step {}", last->step);
  }
  return fmt::format(
      "; {:.3g} from their mean at step {} (Euclidean, root mean square over ranks; +- {})",
      last->spread, last->step, base::percentText(100 * divergence.consensusRelativeError, 0));
}

/// Where no sample has every rank.
/// A rank that was ended before the others, or whose samples were dropped, leaves gaps.
std::string noneOfAll(const analysis::ReplicaMatrix& replicas) {
  return fmt::format("equal where two or more can be compared, but no sample has all {} ranks",
                     replicas.ranks.size());
}

}  // namespace

std::string replicasText(const RunReport& report) {
  const analysis::Divergence& divergence = report.divergence;
  if (!divergence.compared()) {
    return "";
  }
  const analysis::ReplicaMatrix& replicas = divergence.replicas;
  const std::vector<std::uint32_t> whole = replicas.wholeSteps();
  // No capitals here: with such a hook a difference is what was asked for, and how large it is is
  // what matters.
  if (const std::string& hook = report.info.driftingHook; !hook.empty()) {
    return fmt::format(
        "drift by design (hook {}): {}", hook,
        divergence.first ? fmt::format("first apart at step {}", divergence.first->step) +
                               distanceText(divergence)
        : whole.empty()
            ? noneOfAll(replicas)
            : fmt::format("not apart in any of {}", base::countedText(whole.size(), "sample")));
  }
  if (!divergence.first) {
    std::string text = whole.empty()
                           ? noneOfAll(replicas)
                           : fmt::format("equal in {}, the last before step {}",
                                         base::countedText(whole.size(), "sample"), whole.back());
    if (const auto& lost = divergence.lost) {
      text += fmt::format("; NOT FINITE, first at step {} in {}", lost->step,
                          nameOf(report, lost->parameter));
    }
    return text;
  }
  const analysis::FirstDifference& first = *divergence.first;
  std::string text = fmt::format("DIFFER at step {}: {}, {}", first.step,
                                 nameOf(report, first.parameter), base::ranksText(first.ranks));
  // Of three replicas or more one that differs is probably the one that is wrong. Of two nobody can
  // say, and the sentence names rank 0's only because a difference needs two sides.
  text += first.majority               ? " against the majority"
          : replicas.ranks.size() == 2 ? " against rank 0, either may be wrong"
                                       : ", with no majority to tell who is right";
  if (first.parametersDiffering > 1) {
    text += fmt::format("; {} of {} parameters differ there", first.parametersDiffering,
                        replicas.parameters);
  }
  if (first.lastEqualStep) {
    text += fmt::format("; last seen equal at step {}", *first.lastEqualStep);
  }
  return text + distanceText(divergence);
}

std::string sanityText(const RunReport& report) {
  if (report.divergence.findings.empty()) {
    return "";
  }
  const analysis::SanityFinding& first = report.divergence.findings.front();
  std::string what;
  if (first.nans > 0) {
    what = base::countedText(first.nans, "NaN");
  }
  if (first.infinities > 0) {
    what += (what.empty() ? "" : " and ") +
            base::countedText(first.infinities, "infinity", "infinities");
  }
  return fmt::format(
      "{} on rank {} at step {}, before they were averaged{}", what, first.rank, first.step,
      first.parameter ? fmt::format(", first in {}", nameOf(report, *first.parameter)) : "");
}

std::string samplingText(const RunReport& report) {
  if (!report.divergence.cost) {
    return "";
  }
  return fmt::format("fingerprints {} of the step time, gradient checks {}",
                     base::percentText(report.divergence.cost->fingerprintPercent, 2),
                     base::percentText(report.divergence.cost->gradientCheckPercent, 2));
}

}  // namespace lockstep::report
