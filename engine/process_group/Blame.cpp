#include "engine/process_group/Blame.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"

namespace lockstep::process_group {
// Note [Whom to blame]
//
// When a rank gives up, those that waited for it give up too, and those that waited for these. Each
// writes its reason on the notice board: kRemote where it only follows another rank, any other kind
// where it found something itself. A person wants the first:
//
// - blameOf drops the followers (kRemote) as long as anybody found something himself, and puts
//   ranks with one reason together: "ranks 0, 2 gave up: ..." once and not twice.
// - blameForWaiting walks from the rank that is waited for to the one it waits for in its turn, by
//   what each has written of its place:
//
//    rank 0 ──▶ 2 ──▶ 1        "waiting for data from rank 2, which waits for rank 1 in
//                              broadcast #7; rank 3 has not reported being in this operation"
//
// The last of the chain is the culprit: it waits for nobody, or has said nothing. A chain that
// comes back to this rank, or to where it began, is a circle of waits, and ends there.
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
    // The same peer is the same reason, whatever the words, which differ in times.
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
  // At most `size` hops: what ranks wrote may be of different moments and go in circles.
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
    // Who has written a note or a place is alive; only silent ranks are named.
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
