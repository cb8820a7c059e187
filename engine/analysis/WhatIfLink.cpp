#include "engine/analysis/WhatIfLink.h"

#include "engine/cost/LinkSettings.h"

namespace lockstep::analysis {

base::Status changeLink(const RecordedSettings& settings, const experiment::LinkConfig& link,
                        cost::StepChange& change) {
  const experiment::LinkConfig& own = settings.experiment.link;
  experiment::LinkConfig apart = link;
  apart.inFlight = own.inFlight;
  if (apart != own) {
    change.link = cost::knownTransfer(cost::linkOptions(link), settings.worldSize);
    if (!change.link) {
      return base::Error{base::ExitCode::kBadInput,
                         "that link has no bandwidth of its own: what a byte takes on it is the "
                         "backend's affair",
                         ""};
    }
  }
  if (change.link || link.inFlight != own.inFlight) {
    change.inFlight = linkInFlight(settings, link);
  }
  return {};
}

}  // namespace lockstep::analysis
