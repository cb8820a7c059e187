#include "engine/process_group/Blame.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"

namespace lockstep::process_group {
namespace {

// Ranks that gave up for the same reason.
struct Party {
  std::vector<int> ranks;
  Failure reason;
};

}  // namespace

Blame blameOf(const std::vector<std::pair<int, Failure>>& reasons, int rank) {
  const bool anyRoot = std::any_of(reasons.begin(), reasons.end(), [](const auto& entry) {
    return entry.second.kind != CommErrorKind::kRemote;
  });
  std::vector<Party> parties;
  for (const auto& [other, reason] : reasons) {
    if (anyRoot && reason.kind == CommErrorKind::kRemote) {
      continue;
    }
    const auto same = std::find_if(parties.begin(), parties.end(), [&r = reason](const Party& p) {
      return p.reason.peer == r.peer && (r.peer >= 0 || p.reason.what == r.what);
    });
    if (same == parties.end()) {
      parties.push_back(Party{{other}, reason});
    } else {
      same->ranks.push_back(other);
    }
  }
  Blame blame;
  for (const Party& party : parties) {
    blame.text += fmt::format("{}{} gave up: {}", blame.text.empty() ? "" : "; ",
                              base::ranksText(party.ranks), party.reason.what);
    if (party.reason.peer == rank) {
      blame.text += party.ranks.size() == 1 ? " (it waited for this rank)"
                                            : " (they waited for this rank)";
    }
    if (blame.culprit < 0) {
      blame.culprit = party.reason.peer;
    }
  }
  return blame;
}

Blame blameForWaiting(const std::optional<Told>& told, int rank, int size, int peer) {
  Blame blame{"", peer};
  if (!told) {
    return blame;
  }
  for (int hops = 0; hops == 0 || (hops < size && blame.culprit != peer); ++hops) {
    const auto place = told->places.find(blame.culprit);
    if (place == told->places.end() || place->second.peer < 0) {
      break;
    }
    const auto& [call, next] = place->second;
    blame.text += fmt::format(", which waits for {} in {}",
                              next == rank ? "this rank" : fmt::format("rank {}", next), call);
    if (next == rank) {
      break;
    }
    blame.culprit = next;
  }
  std::vector<int> silent;
  for (int other = 0; other < size; ++other) {
    const bool spoke = std::any_of(told->notes.begin(), told->notes.end(),
                                   [other](const auto& entry) { return entry.first == other; });
    if (other != rank && !spoke && !told->places.contains(other)) {
      silent.push_back(other);
    }
  }
  if (!silent.empty()) {
    blame.text += fmt::format("; {} {} not reported being in this operation",
                              base::ranksText(silent), silent.size() == 1 ? "has" : "have");
  }
  return blame;
}

}  // namespace lockstep::process_group
