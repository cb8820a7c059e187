#include "app/cli/WhatIfChange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/cli/ForecastJson.h"
#include "engine/analysis/RecordedHook.h"
#include "engine/analysis/WhatIfCap.h"
#include "engine/analysis/WhatIfLink.h"
#include "engine/base/Try.h"
#include "engine/diagnosis/RankWork.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/experiment/LinkPresets.h"

namespace lockstep::cli {
namespace {

base::Result<std::uint64_t> capOf(double mebibytes, const char* option) {
  const auto bytes = buckets::capBytes(mebibytes);
  return bytes.ok() ? bytes : base::Error{base::ExitCode::kBadInput, bytes.error().what, option};
}

base::Status changeBuckets(const WantedChange& wanted, const analysis::RecordedSteps& recorded,
                           const std::string& path, ReadyChange& ready) {
  const auto caps = analysis::capsOf(recorded.settings.experiment.ddp);
  buckets::BucketCaps others = caps;
  if (wanted.capMb) {
    others.list.clear();
    others.capBytes = LOCKSTEP_TRY(capOf(*wanted.capMb, "--bucket-cap-mb"));
    ready.parts.push_back(fmt::format("cap {:.4g} MiB", *wanted.capMb));
  }
  if (!wanted.capListMb.empty()) {
    others.list.clear();
    for (const double mebibytes : wanted.capListMb) {
      const std::uint64_t cap = LOCKSTEP_TRY(capOf(mebibytes, "--bucket-cap-mb-list"));
      others.list.push_back(cap);
    }
    ready.parts.push_back(fmt::format("caps {:.4g} MiB", fmt::join(wanted.capListMb, ", ")));
  }
  auto plan = analysis::planWithCaps(recorded.parameters, recorded.layout, caps, others);
  if (!plan.ok()) {
    return cannotTell(path, plan.error());
  }
  ready.change.buckets = std::move(plan).value();
  return {};
}

/// The run's link with what is wanted of it.
experiment::LinkConfig otherLink(const WantedChange& wanted, experiment::LinkConfig link) {
  if (!wanted.link.empty()) {
    link.preset = wanted.link;
  } else if (wanted.bandwidthGbps || wanted.latencyUs) {
    // What is not given stays as the preset has it.
    if (const auto* preset = experiment::findLinkPreset(link.preset)) {
      link.bandwidthGbps = preset->bandwidthGbps();
      link.latencyUs = preset->latencyUs();
    }
    link.preset = "none";
    link.bandwidthGbps = wanted.bandwidthGbps.value_or(link.bandwidthGbps);
    link.latencyUs = wanted.latencyUs.value_or(link.latencyUs);
  }
  link.inFlight = wanted.inFlight.value_or(link.inFlight);
  return link;
}

void nameLink(const WantedChange& wanted, ReadyChange& ready) {
  if (!wanted.link.empty()) {
    ready.parts.push_back("link " + wanted.link);
  }
  if (wanted.bandwidthGbps) {
    ready.parts.push_back(fmt::format("{:g} Gbit/s", *wanted.bandwidthGbps));
  }
  if (wanted.latencyUs) {
    ready.parts.push_back(fmt::format("{:g} µs", *wanted.latencyUs));
  }
  if (wanted.inFlight) {
    ready.parts.push_back(*wanted.inFlight == 0 ? "any number in flight"
                                                : fmt::format("{} in flight", *wanted.inFlight));
  }
}

base::Status changeRank(int rank, const analysis::RecordedSteps& recorded,
                        const analysis::LastSteps& last, ReadyChange& ready) {
  if (rank < 0 || rank >= recorded.settings.worldSize) {
    return base::Error{base::ExitCode::kBadInput, fmt::format("it has no rank {}", rank), ""};
  }
  const auto work = diagnosis::rankWork(last.data, recorded.layout.step + 1);
  ready.change.without = diagnosis::rankExcess(rank, diagnosis::excessOf(work, rank));
  ready.parts.push_back(fmt::format("rank {} like the others", rank));
  return {};
}

}  // namespace

base::Result<ReadyChange> readyChange(const WantedChange& wanted,
                                      const analysis::RecordedSteps& recorded,
                                      const analysis::LastSteps& last, const std::string& path) {
  ReadyChange ready;
  const auto told = [&path](const base::Status& status) {
    return status.ok() ? status : base::Status(cannotTell(path, status.error()));
  };
  if (wanted.capMb || !wanted.capListMb.empty()) {
    LOCKSTEP_TRY(changeBuckets(wanted, recorded, path, ready));
  }
  ready.link = otherLink(wanted, recorded.settings.experiment.link);
  nameLink(wanted, ready);
  LOCKSTEP_TRY(told(analysis::changeLink(recorded.settings, ready.link, ready.change)));
  if (!wanted.hookOf.empty()) {
    const auto hook = analysis::readRecordedHook(wanted.hookOf);
    if (!hook.ok()) {
      return hook.error().where.empty() ? cannotTell(path, hook.error()) : hook.error();
    }
    LOCKSTEP_TRY(told(analysis::changeHook(recorded.settings, hook.value(), ready.change)));
    ready.hook = hook.value().settings.experiment.hook.name;
    ready.parts.push_back("hook " + ready.hook);
  }
  if (wanted.computeFactor) {
    ready.change.computeFactor = *wanted.computeFactor;
    ready.parts.push_back(fmt::format("computing x {:g}", *wanted.computeFactor));
  }
  if (wanted.withoutExcessOf) {
    LOCKSTEP_TRY(told(changeRank(*wanted.withoutExcessOf, recorded, last, ready)));
  }
  return ready;
}

cost::RecordedRun recordedRunOf(const analysis::RecordedSteps& recorded,
                                const analysis::LastSteps& last) {
  cost::RecordedRun run = analysis::recordedRun(recorded.steps, recorded.settings);
  if (!run.hook) {
    const auto analysis = analysis::analyse(last.data);
    const auto work = analysis::hookWork(recorded, analysis::hookTimes(last.data, analysis));
    run.hook = work.ok() ? std::optional(work.value()) : std::nullopt;
  }
  return run;
}

}  // namespace lockstep::cli
