#include "engine/cost/ChangedLine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace lockstep::cost {
namespace {

base::Error noLine(std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), ""};
}

/// Which part of a bucket's bytes an allreduce carries with the change.
base::Result<double> travellingShare(const RecordedRun& run, const StepChange& change) {
  const std::optional<double> share = change.hook ? change.hook->share : run.share;
  if (!share) {
    return noLine(change.hook
                      ? "that hook makes more of a bucket than one allreduce of always the "
                        "same part, and was measured on another link"
                      : "its hook makes more of a bucket than one allreduce of always the same "
                        "part, and what that takes on another link is not known");
  }
  return *share * change.bytesTimes;
}

Backend times(Backend backend, double factor) {
  backend.cost.nsPerByte *= factor;
  return backend;
}

/// What the run's transfers cost without the latency of its link: where they did not follow the
/// settings of that, its backend was slower.
Backend measuredBackend(const RecordedRun& run, const TransferFit& fit) {
  Backend backend{fit.cost, run.known ? run.backendInFlight : run.inFlight};
  if (run.known) {
    backend.cost.latencyNs = std::max(backend.cost.latencyNs - run.known->latencyNs, 0.0);
  }
  return backend;
}

/// The line of a modelled link that carries `share` of each bucket's bytes.
base::Result<Line> modelledLine(const RecordedRun& run, const TransferFit& fit,
                                const std::optional<Backend>& backend, const StepChange& change,
                                double ownShare, double share) {
  // Of a bucket's bytes; the run's own is of those that its hook sends.
  const KnownTransfer link =
      change.link ? KnownTransfer{change.link->nsPerByte * share, change.link->latencyNs}
                  : KnownTransfer{run.known->nsPerByte * share / ownShare, run.known->latencyNs};
  Line line{{link.latencyNs, link.nsPerByte, 0}, change.inFlight.value_or(run.inFlight), {}};
  if (!fit.bySettings) {
    line.under = times(measuredBackend(run, fit), share / ownShare);
    return line;
  }
  constexpr double kFaster = 0.99;
  // Of a byte that travels: fewer of them are fewer for the backend, too.
  if (!backend && link.nsPerByte / share < kFaster * run.known->nsPerByte / ownShare) {
    return noLine(
        "its own link hid what its backend takes by itself, which a faster one would show");
  }
  line.cost.latencyNs += fit.cost.latencyNs - run.known->latencyNs;
  line.cost.noticeNs = fit.cost.noticeNs;
  if (backend) {
    line.under = times(*backend, share / ownShare);
  }
  return line;
}

}  // namespace

std::optional<Backend> backendOf(const RecordedRun& run) {
  std::vector<TransferSample> samples;
  for (StepRecord step : run.steps) {
    // As if the transfers had been over when the backend was done.
    for (BucketRecord& bucket : step.buckets) {
      for (BucketPart& part : bucket.parts) {
        if (std::isnan(part.backendEndedNs)) {
          return std::nullopt;
        }
        part.endedNs = part.backendEndedNs;
      }
    }
    const auto more = transferSamples(step, run.backendInFlight);
    samples.insert(samples.end(), more.begin(), more.end());
  }
  const auto cost = lineThrough(samples);
  return cost ? std::optional(Backend{*cost, run.backendInFlight}) : std::nullopt;
}

base::Result<Line> changedLine(const RecordedRun& run, const TransferFit& fit,
                               const std::optional<Backend>& backend, const StepChange& change) {
  Line own{fit.cost, run.inFlight, {}};
  const bool otherLink = change.link || change.inFlight;
  if (!otherLink && !change.hook) {
    own.cost.nsPerByte *= change.bytesTimes;
    if (change.bytesTimes < 1 && fit.bySettings && backend) {
      own.under = times(*backend, change.bytesTimes);
    }
    return own;
  }
  if (change.inFlight && !change.link && !run.shaped) {
    return noLine(
        "its link is not a modelled one, and how many transfers travel at once is its backend's "
        "own affair; name a link, too");
  }
  if (change.hook && !run.hook) {
    return noLine("its own hook works on each bucket, and what that takes by itself is not known");
  }
  if (change.hook && change.hook->transfer && !change.hook->share && !otherLink) {
    own.cost = *change.hook->transfer;
    return own;
  }
  const auto share = travellingShare(run, change);
  if (!share.ok()) {
    return share.error();
  }
  if (!run.share) {
    return noLine(
        "its hook makes more of a bucket than one allreduce of always the same part, so that what "
        "one takes is not known");
  }
  if (!change.link && !run.known) {
    // What was measured is the backend's, which takes its time for the bytes that travel.
    own.cost.nsPerByte *= share.value() / *run.share;
    return own;
  }
  return modelledLine(run, fit, backend, change, *run.share, share.value());
}

}  // namespace lockstep::cost
