#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "app/cli/RunReport.h"

namespace lockstep::cli {
namespace {

std::string nameOf(const RunReport& report, std::size_t parameter) {
  return parameter < report.parameters.size() ? report.parameters[parameter].name
                                              : fmt::format("parameter {}", parameter);
}

std::string ranksText(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

/// How far the replicas are apart at the end; empty: that is not recorded.
std::string distanceText(const analysis::Divergence& divergence) {
  if (divergence.consensus.empty()) {
    return "";
  }
  const std::uint32_t step = divergence.replicas.steps.back();
  const std::optional<double> spread = divergence.lastSpread();
  if (!spread) {
    return fmt::format("; at step {} not all are known and finite", step);
  }
  if (*spread == 0) {
    return fmt::format("; equal again at step {}", step);
  }
  return fmt::format("; {:.3g} +- {:.0f} % from their mean at step {}", *spread,
                     100 * divergence.consensusRelativeError, step);
}

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::string replicasText(const RunReport& report) {
  const analysis::Divergence& divergence = report.divergence;
  if (!divergence.compared()) {
    return "";
  }
  const analysis::ReplicaMatrix& replicas = divergence.replicas;
  if (const std::string& hook = report.info.driftingHook; !hook.empty()) {
    return fmt::format("drift by design (hook {}): {}", hook,
                       divergence.first
                           ? fmt::format("first apart at step {}", divergence.first->step) +
                                 distanceText(divergence)
                           : fmt::format("not apart in any of {}",
                                         counted(replicas.steps.size(), "sample", "samples")));
  }
  if (!divergence.first) {
    std::string text =
        fmt::format("equal in {}, the last before step {}",
                    counted(replicas.steps.size(), "sample", "samples"), replicas.steps.back());
    if (const auto& lost = divergence.lost) {
      text += fmt::format("; NOT FINITE, first at step {} in {}", lost->step,
                          nameOf(report, lost->parameter));
    }
    return text;
  }
  const analysis::FirstDifference& first = *divergence.first;
  std::string text = fmt::format("DIFFER at step {}: {}, {}", first.step,
                                 nameOf(report, first.parameter), ranksText(first.ranks));
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
    what = counted(first.nans, "NaN", "NaNs");
  }
  if (first.infinities > 0) {
    what += (what.empty() ? "" : " and ") + counted(first.infinities, "infinity", "infinities");
  }
  return fmt::format(
      "{} on rank {} at step {}, before they were averaged{}", what, first.rank, first.step,
      first.parameter ? fmt::format(", first in {}", nameOf(report, *first.parameter)) : "");
}

std::string samplingText(const RunReport& report) {
  if (!report.divergence.cost) {
    return "";
  }
  return fmt::format("fingerprints {:.2f} % of the step time, gradient checks {:.2f} %",
                     report.divergence.cost->fingerprintPercent,
                     report.divergence.cost->gradientCheckPercent);
}

}  // namespace lockstep::cli
