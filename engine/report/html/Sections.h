#pragma once

#include <string>

#include "engine/analysis/BucketDelays.h"
#include "engine/analysis/HookBuckets.h"
#include "engine/analysis/Landscape.h"
#include "engine/report/RunReport.h"

namespace lockstep::report::html {

/// What several parts of the page look at, made once.
struct Figures {
  explicit Figures(const ReportedRun& run);

  const RunReport& report;
  const diagnosis::Evidence& evidence;
  const analysis::BucketDelays& delays;
  const diagnosis::BucketVerdict& bucketVerdict;
  analysis::Landscape landscape;  ///< of all steps
  analysis::HookCalls hook;

  /// "rank 3", with its host where there are several.
  [[nodiscard]] std::string nameOf(int rank) const;
};

// Each returns a part of the page; "" where the run has nothing of it.

/// Name, state, and what became of the run.
std::string heading(const Figures& of);
/// The findings of the diagnosis, with savings and remedies.
std::string verdict(const Figures& of);
/// The numbers and lines of `lockstep info`.
std::string figures(const Figures& of);

/// Steps by iteration, a line a rank; of many ranks their middle, their spread and the outliers.
std::string stepPicture(const Figures& of);
/// What a mean step of each rank is made of.
std::string partsPicture(const Figures& of);
/// Rank by bucket: what the communication of a bucket costs.
std::string bucketPicture(const Figures& of);
/// Rank 0's loss by iteration.
std::string lossPicture(const Figures& of);

std::string rankTable(const Figures& of);
std::string causeTable(const Figures& of);
std::string bucketTable(const Figures& of);
std::string hookTable(const Figures& of);
std::string collectiveTable(const Figures& of);
std::string problemTable(const Figures& of);
/// What the run was made with: experiment, environment.
std::string origin(const Figures& of);

}  // namespace lockstep::report::html
