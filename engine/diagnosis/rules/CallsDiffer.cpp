#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {

std::vector<Finding> judgeCalls(const Evidence& evidence) {
  const auto first = analysis::firstMismatch(evidence.calls);
  if (!first) {
    return {};
  }
  const analysis::CallSequence& sequence = evidence.calls[*first];
  const std::size_t row = *sequence.first;
  const std::vector<int> odd = analysis::oddRanks(sequence, row);
  // Who was ended by a signal made no more calls: that is how the run failed, and no other finding.
  const bool ended =
      std::any_of(evidence.ranks.begin(), evidence.ranks.end(), [&](const trace::RankInfo& rank) {
        return rank.signal != 0 && std::find(odd.begin(), odd.end(), rank.rank) != odd.end();
      });
  if (ended) {
    return {};
  }
  Finding finding;
  finding.weight = Weight::kWrong;
  finding.title =
      fmt::format("the ranks' calls differ: {}", analysis::name(sequence.rows[row].mismatch));
  finding.sentence =
      fmt::format("Call {} of group {}: {}", sequence.rows[row].sequence,
                  static_cast<int>(sequence.group), analysis::describe(sequence, row));
  finding.remedy = fmt::format(
      "Look at what {} before this call that the others do not; processes.checked = \"always\" "
      "stops "
      "a run at the first such call.",
      odd.size() == 1 ? fmt::format("rank {} does", odd.front())
                      : base::ranksText(odd.empty() ? sequence.ranks : odd, 4) + " do");
  finding.settings = {{"processes.checked", "\"always\""}};
  if (!odd.empty()) {
    finding.place.rank = odd.front();
  }
  const trace::SpanRow call = sequence.anyCallAt(row);
  finding.place.step = call.step;
  finding.place.ticks = call.startTicks;
  return {finding};
}

}  // namespace lockstep::diagnosis
