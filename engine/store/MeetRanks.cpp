#include "engine/store/MeetRanks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/store/detail/RollCall.h"

namespace lockstep::store {
namespace {

using base::Error;
using base::ExitCode;
using base::Status;
using detail::RollCall;
using detail::Signature;

// Note [The verdict of a meeting]
// Whoever knows first how a meeting ends writes it to one key, and all wait for that key alone:
// "+" all have come, "!text" a mistake of the job, "-text" a rank has given up waiting. The first
// verdict stands.
constexpr char kMet = '+';
constexpr char kMistake = '!';
constexpr char kGaveUp = '-';

// Note [Farewells]
// A process takes a number before all else, and sets a key of that number once it knows the verdict
// and needs the store no more. The rank that serves the store waits for these keys before it
// leaves. With three ranks, of which rank 0 serves and rank 2 comes twice:
//
//   rank 0    came 1, registers              reads the verdict    farewell/1
//   rank 2    came 2, registers              reads the verdict    farewell/2
//   rank 2    came 3, finds rank 2 there     writes the verdict   farewell/3
//
// If rank 0 did not wait, its end would be the store's, and the others would report a lost
// connection in place of the mistake.
std::string cameKey(const std::string& prefix) {
  return prefix + "came";
}

std::string farewellKey(const std::string& prefix, std::int64_t number) {
  return fmt::format("{}farewell/{}", prefix, number);
}

std::string prefixOf(const RankClaim& claim) {
  return fmt::format("rendezvous/{}/", claim.job);
}

class Meeting {
 public:
  Meeting(Store& store, const RankClaim& claim)
      : store_(store),
        claim_(claim),
        prefix_(prefixOf(claim)),
        roll_(store, prefix_, claim.worldSize),
        own_(Signature::own()) {}

  Status join() {
    const std::string farewell = farewellKey(prefix_, store_.add(cameKey(prefix_), 1));
    Status met = meet();
    try {
      store_.set(farewell, "");
    } catch (const StoreError&) {
      // Who serves the store has waited for us long enough; we know how it ended.
    }
    return met;
  }

 private:
  Status meet() {
    if (const std::string mistake = compareWorlds(); !mistake.empty()) {
      return spoil(mistake);
    }
    const auto entry = roll_.sign(claim_.rank, own_);
    if (entry.holder) {
      return spoil(fmt::format(
          "rank {} is registered by {}{} and again by {}; start each rank once", claim_.rank,
          entry.holder->who(),
          entry.holder->hasEnded()
              ? " (which has ended: if a former job left this store, remove it or name the job)"
              : "",
          own_.who()));
    }
    if (entry.last) {
      decide(kMet, "");
    }
    return await();
  }

  [[nodiscard]] std::string verdictKey() const { return prefix_ + "verdict"; }

  void decide(char kind, const std::string& text) {
    store_.compareSet(verdictKey(), "", kind + text);
  }

  /// Tells the others, and returns the mistake as ours.
  Status spoil(const std::string& mistake) {
    decide(kMistake, mistake);
    return Error{ExitCode::kBadInput, mistake, ""};
  }

  /// The first rank's world size counts; returns a sentence when ours differs.
  std::string compareWorlds() {
    const std::string own =
        fmt::format("{} for rank {} ({})", claim_.worldSize, claim_.rank, own_.who());
    // compareSet() of an absent key with "" writes it: one call for the first rank and the others.
    std::string first = store_.compareSet(prefix_ + "world", "", own);
    int size = 0;
    std::from_chars(first.data(), first.data() + first.size(), size);
    return size == claim_.worldSize
               ? ""
               : fmt::format("the world size is {} and {}; give all ranks the same", first, own);
  }

  Status await() {
    std::string verdict;
    try {
      verdict = store_.get(verdictKey());
    } catch (const StoreError&) {
      // Throws itself when the store has gone.
      // Nobody is absent if the last rank signed at the time limit: then the verdict was about to
      // come.
      const auto absent = roll_.absent();
      if (absent.empty()) {
        throw;
      }
      const auto limitMs = store_.timeout().count();
      const std::string list = base::ranksText(absent, detail::kRanksNamed);
      decide(kGaveUp, fmt::format("rank {} ({}) gave up after {} ms of waiting for {}", claim_.rank,
                                  own_.who(), limitMs, list));
      return Error{ExitCode::kCommFailed,
                   fmt::format("timeout after {} ms: waiting for {} of {}; start it with the same "
                               "address and job, or allow more time",
                               limitMs, list, claim_.worldSize),
                   ""};
    }
    if (verdict.starts_with(kMet)) {
      return {};
    }
    return Error{verdict.starts_with(kMistake) ? ExitCode::kBadInput : ExitCode::kCommFailed,
                 verdict.substr(std::min<std::size_t>(1, verdict.size())), ""};
  }

  Store& store_;
  const RankClaim& claim_;
  const std::string prefix_;
  RollCall roll_;
  const Signature own_;
};

}  // namespace

Status meetRanks(Store& store, const RankClaim& claim) {
  if (claim.rank < 0 || claim.rank >= claim.worldSize) {
    return Error{ExitCode::kBadInput,
                 fmt::format("rank {} is outside a world of {}: ranks count from 0", claim.rank,
                             claim.worldSize),
                 ""};
  }
  return Meeting(store, claim).join();
}

bool awaitFarewells(Store& store, const RankClaim& claim, Store::Milliseconds patience) {
  const std::string prefix = prefixOf(claim);
  std::vector<std::string> keys;
  const std::int64_t came = store.add(cameKey(prefix), 0);
  for (std::int64_t number = 1; number <= came; ++number) {
    keys.push_back(farewellKey(prefix, number));
  }
  try {
    store.wait(keys, patience);
    return true;
  } catch (const StoreError&) {
    // The wait may have ended for another reason than time; this throws if the store has gone.
    return store.check(keys);
  }
}

bool isRegistered(Store& store, const RankClaim& claim, int rank, Store::Milliseconds patience) {
  const std::string key = RollCall(store, prefixOf(claim), claim.worldSize).rankKey(rank);
  try {
    store.wait({key}, patience);
    return true;
  } catch (const StoreError&) {
    return store.check({key});
  }
}

}  // namespace lockstep::store
