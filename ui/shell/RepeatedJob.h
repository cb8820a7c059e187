#pragma once

#include <QString>
#include <vector>

#include "engine/trace/RunFile.h"
#include "ui/shell/JobRequest.h"

namespace lockstep::ui {

/// A job as it can be asked for again, and what is known of that.
struct RepeatedJob {
  JobRequest job;
  QString hint;  ///< a sentence
};

/// The job that a run recorded: as the user wrote it where it is among the `recent` ones, else what
/// the run file holds of it.
RepeatedJob repeatedJob(const trace::RunInfo& run, const std::vector<JobRequest>& recent);

}  // namespace lockstep::ui
