#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

/// Which spans of a run that grows have been looked at.
class NewSpans {
 public:
  /// Calls `take` with the rank and the span, for all that have come since the last call and are
  /// somebody's. Returns false where `data` does not go on with what it was then.
  template <typename Take>
  bool take(const RunData& data, const Take& take) {
    if (count_ > 0 && nobodys_ && data.tracks.size() != tracks_) {
      return false;
    }
    tracks_ = data.tracks.size();
    const RankOfTrack rankOf = data.rankOfTrack();
    std::int64_t last = last_;
    auto at = rankOf.end();  // of the track of the span before: the next is likely of it too
    data.spans.eachAfter(last_, [&](const trace::SpanRow& span) {
      ++count_;
      last = std::max(last, span.id);
      if (at == rankOf.end() || at->first != span.track) {
        at = rankOf.find(span.track);
      }
      if (at == rankOf.end()) {
        nobodys_ = true;
      } else {
        take(at->second, span);
      }
    });
    last_ = last;
    return count_ == data.spans.size();
  }
  [[nodiscard]] bool any() const { return count_ > 0; }

 private:
  std::int64_t last_ = -1;  // SpanRow::id; what is above has not been looked at
  std::size_t count_ = 0;   // that were
  std::size_t tracks_ = 0;  // that were known
  bool nobodys_ = false;    // spans of tracks that were not
};

}  // namespace lockstep::analysis
