#include "engine/diagnosis/WantedChange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/analysis/HookTimes.h"
#include "engine/analysis/RecordedHook.h"
#include "engine/analysis/WhatIfCap.h"
#include "engine/analysis/WhatIfLink.h"
#include "engine/base/Try.h"
#include "engine/diagnosis/RankWork.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/experiment/LinkPresets.h"

namespace lockstep::diagnosis {
namespace {

base::Result<std::uint64_t> capOf(double mebibytes, const char* key) {
  const auto bytes = buckets::capBytes(mebibytes);
  return bytes.ok() ? bytes : base::Error{base::ExitCode::kBadInput, bytes.error().what, key};
}

base::Status changeBuckets(const WantedChange& wanted, const analysis::RecordedSteps& recorded,
                           ReadyChange& ready) {
  const auto caps = analysis::capsOf(recorded.settings.experiment.ddp);
  buckets::BucketCaps others = caps;
  if (wanted.capMb) {
    others.list.clear();
    others.capBytes = LOCKSTEP_TRY(capOf(*wanted.capMb, "ddp.bucket_cap_mb"));
    ready.parts.push_back(fmt::format("cap {:.4g} MiB", *wanted.capMb));
  }
  if (!wanted.capListMb.empty()) {
    others.list.clear();
    for (const double mebibytes : wanted.capListMb) {
      const std::uint64_t cap = LOCKSTEP_TRY(capOf(mebibytes, "ddp.bucket_cap_mb_list"));
      others.list.push_back(cap);
    }
    ready.parts.push_back(fmt::format("caps {:.4g} MiB", fmt::join(wanted.capListMb, ", ")));
  }
  auto plan = analysis::planWithCaps(recorded.parameters, recorded.layout, caps, others);
  if (!plan.ok()) {
    return plan.error();
  }
  ready.change.buckets = std::move(plan).value();
  experiment::DdpConfig& ddp = ready.experiment->ddp;
  ddp.bucketCapMb = wanted.capMb.value_or(ddp.bucketCapMb);
  ddp.bucketCapMbList = wanted.capListMb;
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

base::Status changeHook(const WantedChange& wanted, const analysis::RecordedSteps& recorded,
                        ReadyChange& ready) {
  if (wanted.verifiedHook != nullptr) {
    auto verified =
        LOCKSTEP_TRY(cost::verifiedWork(*wanted.verifiedHook, {recorded.settings.worldSize},
                                        analysis::meanBucketBytes(recorded.layout)));
    ready.change.hook = verified.work;
    ready.ofHook = std::move(verified.text);
    ready.experiment->hook = wanted.verifiedHook->hook;
  } else if (!wanted.hookOf.empty()) {
    const auto hook = LOCKSTEP_TRY(analysis::readRecordedHook(wanted.hookOf));
    LOCKSTEP_TRY(analysis::changeHook(recorded.settings, hook, ready.change));
    ready.experiment->hook = hook.settings.experiment.hook;
  } else {
    return {};
  }
  ready.hook = ready.experiment->hook.name;
  ready.parts.push_back("hook " + ready.hook);
  return {};
}

base::Status changeRank(int rank, const analysis::RecordedSteps& recorded,
                        const analysis::RunData& data, ReadyChange& ready) {
  if (rank < 0 || rank >= recorded.settings.worldSize) {
    return base::Error{base::ExitCode::kBadInput, fmt::format("it has no rank {}", rank), ""};
  }
  const auto work = diagnosis::rankWork(data, recorded.layout.step + 1);
  ready.change.without = diagnosis::rankExcess(rank, diagnosis::Excesses(work).of(rank));
  ready.parts.push_back(fmt::format("rank {} like the others", rank));
  return {};
}

}  // namespace

base::Result<ReadyChange> readyChange(const WantedChange& wanted,
                                      const analysis::RecordedSteps& recorded,
                                      const analysis::RunData& data) {
  ReadyChange ready;
  ready.experiment = recorded.settings.experiment;
  if (wanted.capMb || !wanted.capListMb.empty()) {
    LOCKSTEP_TRY(changeBuckets(wanted, recorded, ready));
  }
  const experiment::LinkConfig link = otherLink(wanted, recorded.settings.experiment.link);
  nameLink(wanted, ready);
  LOCKSTEP_TRY(analysis::changeLink(recorded.settings, link, ready.change));
  ready.experiment->link = link;
  LOCKSTEP_TRY(changeHook(wanted, recorded, ready));
  if (wanted.computeFactor) {
    ready.change.computeFactor = *wanted.computeFactor;
    ready.parts.push_back(fmt::format("computing x {:g}", *wanted.computeFactor));
  }
  if (wanted.withoutExcessOf) {
    LOCKSTEP_TRY(changeRank(*wanted.withoutExcessOf, recorded, data, ready));
  }
  if (wanted.computeFactor || wanted.withoutExcessOf) {
    ready.experiment.reset();
  } else {
    ready.experiment->sweep = {};  // it is no run of the sweep that this one was of
    ready.experiment->name += fmt::format(" {}", fmt::join(ready.parts, ", "));
  }
  return ready;
}

cost::RecordedRun recordedRunOf(const analysis::RecordedSteps& recorded,
                                const analysis::RunData& data, const analysis::RunAnalysis* known) {
  cost::RecordedRun run = analysis::recordedRun(recorded.steps, recorded.settings);
  if (!run.hook) {
    const auto times = known != nullptr ? analysis::hookTimes(data, *known)
                                        : analysis::hookTimes(data, analysis::analyse(data));
    const auto work = analysis::hookWork(recorded, times);
    run.hook = work.ok() ? std::optional(work.value()) : std::nullopt;
  }
  return run;
}

}  // namespace lockstep::diagnosis
