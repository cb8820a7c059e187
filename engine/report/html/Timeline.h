#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/report/RunReport.h"
#include "engine/report/html/Sections.h"
#include "engine/report/html/ShownRanks.h"

namespace lockstep::report::html {

// Note [The timeline of a report]
// A report shows a few iterations span by span: those that took longest, one that took as long as
// most, and of a run that failed the one in which it ended. Which they are is known only once all
// is read. Their spans become one JSON object in the page, from which timeline.js draws what is in
// sight:
//
//   {"kinds": [{"name": .., "lane": .., "row": .., "instant": ..}], "texts": [..],
//    "iterations": [{"title": .., "about": .., "ns": ..,
//                    "ranks": [{"name": .., "spans": [[kind, begin ns, ns, bucket, text,
//                    bytes]]}]}]}
//
// Bucket and text are -1 where there is none, and what is missing at the end of a span is none. In
// the place of bytes an off_core has the ns for which there was no core, somewhere in it. No more
// than kMostSpans are in it: where there are more, fine ones (run::kFine) are left out first, then
// the shortest.

inline constexpr std::size_t kMostSpans = 18'000;
inline constexpr std::size_t kMostTimelineRanks = 8;

/// An iteration that is shown, and why.
struct ShownIteration {
  std::uint32_t step = 0;
  std::string why;  ///< "the longest"
};

/// Chooses them. `lastSeen`: the last step of which there is any span.
std::vector<ShownIteration> shownIterations(const ReportedRun& run, std::uint32_t lastSeen);

/// Returns the section's HTML with the data in it; "" of a run without a step.
std::string timeline(const Figures& of, const ReportedRun& run);

}  // namespace lockstep::report::html
