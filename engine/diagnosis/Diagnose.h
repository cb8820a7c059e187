#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/diagnosis/Evidence.h"
#include "engine/diagnosis/Finding.h"
#include "engine/diagnosis/Verdict.h"

namespace lockstep::diagnosis {

// Note [Findings]
// Every rule looks at the same evidence and says what it found. What is wrong comes first, then
// what costs time, the most first, then notes; of these last the ones that say what something
// takes at most. A rule speaks only beyond chance, and beyond its own share of the step
// (Rule::threshold). Two rules may see one cause from two sides, and then both are told: where a
// rank has no core, it is late and its transfers take long, too. The one that costs most stands
// first.
//
// Nothing found is a finding, of which there are three kinds: a run of which enough is known, in
// which nothing stands out; one in which nobody is to blame, and much is exposed all the same, which
// is no praise; and a run that cannot tell, with the reason.
//
// Of a run that goes on everything is said of what has come so far, and says so.

struct Diagnosis {
  std::vector<Finding> findings;  ///< in the order in which they are told
  /// Where nothing was found: a sentence that says whether nothing stands out, or why this run
  /// cannot tell.
  std::string nothing;
  std::vector<Remark> verdict;      ///< Note [Verdict]
  bool canTell = true;              ///< enough steps are measured to tell a cause from chance
  bool muchExposed = false;         ///< nothing was found, and 10 % of a step or more is exposed
  bool soFar = false;               ///< the run goes on
  double stepMs = 0;                ///< Evidence::stepMs
  std::uint32_t measuredSteps = 0;  ///< Evidence::measuredSteps
};

/// [any-thread]
Diagnosis diagnose(const Evidence& evidence);

/// Returns all findings, numbered, each with its figures and what to do.
std::string textOf(const Diagnosis& diagnosis);

/// Returns a finding's title with what it costs: "rank 2 is late: 20.4 ms a step (19.8 to 20.9)".
std::string headlineOf(const Finding& finding);

}  // namespace lockstep::diagnosis
