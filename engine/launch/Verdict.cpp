#include "engine/launch/Verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "engine/base/NumberText.h"

namespace lockstep::launch {
namespace {

using base::ExitCode;

// Note [Whose fault it was]
// When one rank goes, all others fail after it: their collectives break, their waits time out, and
// who is left is killed by the supervisor. The verdict names one cause, so the ends are put in an
// order, the causes first. An example of four ranks:
//
//       rank 2   ended by SIGSEGV                        kSignalOrLost    the cause
//       rank 0   exit 3, "allreduce failed: rank 2 ..."  kCommError       a consequence
//       rank 1   the same                                kCommError
//       rank 3   killed by the supervisor                kKilledByUs
//
// A collective that fails without any such end has a cause that the kernel does not tell, and the
// errors themselves name it (LastWords::culprits): of three ranks two say "rank 1 made another
// call". Then who is named most is the cause, and the first to name it the messenger, whose exit
// code the run has. accusationOf() counts those votes; it leaves out who named another in turn,
// since in a chain 0 waits for 1, 1 waits for 2, only 2 kept anybody waiting by itself.

enum class Cause { kSignalOrLost, kOwnError, kSuspended, kCommError, kKilledByUs };

Cause causeOf(const RankEnd& end) {
  if (!end.lost.empty()) {
    return Cause::kSignalOrLost;
  }
  if (end.end.signal != 0) {
    // A suspended rank keeps the others waiting, which fail by their time limit: it is the cause
    // although it was the supervisor that ended it.
    return !end.killedByUs    ? Cause::kSignalOrLost
           : end.wasSuspended ? Cause::kSuspended
                              : Cause::kKilledByUs;
  }
  return end.end.exitCode == static_cast<int>(ExitCode::kCommFailed) ? Cause::kCommError
                                                                     : Cause::kOwnError;
}

ExitCode exitCodeOf(const RankEnd& end) {
  if (!end.lost.empty()) {
    return ExitCode::kCommFailed;
  }
  if (end.end.signal != 0) {
    return ExitCode::kRankKilled;
  }
  switch (const auto code = static_cast<ExitCode>(end.end.exitCode); code) {
    // Codes that a rank may end with on purpose; anything else is a crash of some sort.
    case ExitCode::kBadInput:
    case ExitCode::kEnvironment:
    case ExitCode::kCommFailed:
    case ExitCode::kHookFailed:
    case ExitCode::kTimeout:
    case ExitCode::kInterrupted:
      return code;
    default:
      return ExitCode::kUnexpected;
  }
}

std::string killed(const RankEnd& end) {
  return fmt::format("rank {} {} and was killed", end.rank,
                     end.wasSuspended ? "was suspended (SIGSTOP)" : "did not end by itself");
}

/// What the supervisor had to end counts as a consequence, but who it was tells the reader
/// whom the others waited for. `said`: a rank whose place the reader knows already.
std::string survivors(const std::vector<RankEnd>& ends, int said = -1) {
  std::string text;
  for (const auto& end : ends) {
    if (end.killedByUs) {
      text += "; " + killed(end) + (end.rank == said ? "" : ", " + end.words.lastIn);
    }
  }
  return text;
}

const RankEnd* endOf(const std::vector<RankEnd>& ends, int rank) {
  const auto found = std::find_if(ends.begin(), ends.end(),
                                  [rank](const RankEnd& end) { return end.rank == rank; });
  return found == ends.end() ? nullptr : &*found;
}

/// Whom the ranks' errors find at fault.
struct Accusation {
  trace::Fault fault = trace::Fault::kNone;
  std::vector<int> ranks;
  const RankEnd* messenger = nullptr;  ///< that said so
};

/// Whether `end` may say of `rank` what it says.
bool counts(const std::vector<RankEnd>& ends, const RankEnd& end, int rank) {
  const RankEnd* const accused = endOf(ends, rank);
  // Of a rank that left because it had failed itself, its own end says more.
  return accused != nullptr && (end.words.fault != trace::Fault::kGone || endedWell(*accused));
}

Accusation accusationOf(const std::vector<RankEnd>& ends) {
  std::map<int, int> votes;
  const auto waitedForOthers = [&](const RankEnd& end) {
    const auto& named = end.words.culprits;
    // Who counts itself among those that differ did not wait, it compared.
    return std::find(named.begin(), named.end(), end.rank) == named.end() &&
           std::any_of(named.begin(), named.end(),
                       [&](int rank) { return counts(ends, end, rank); });
  };
  for (const RankEnd& end : ends) {
    for (const int rank : end.words.culprits) {
      votes[rank] += counts(ends, end, rank) ? 1 : 0;
    }
  }
  int most = 0;
  for (const auto& [rank, count] : votes) {
    most = std::max(most, count);
  }
  Accusation accusation;
  for (const auto& [rank, count] : votes) {
    if (count == most && most > 0) {
      accusation.ranks.push_back(rank);
    }
  }
  // Who waited for another one in turn kept the others waiting for no fault of its own.
  std::vector<int> silent;
  std::copy_if(accusation.ranks.begin(), accusation.ranks.end(), std::back_inserter(silent),
               [&](int rank) { return !waitedForOthers(*endOf(ends, rank)); });
  if (!silent.empty()) {
    accusation.ranks = std::move(silent);
  }
  const auto isAccused = [&](int rank) {
    return std::find(accusation.ranks.begin(), accusation.ranks.end(), rank) !=
           accusation.ranks.end();
  };
  const auto key = [&](const RankEnd& end) { return std::tuple(isAccused(end.rank), end.order); };
  for (const RankEnd& end : ends) {
    const auto& named = end.words.culprits;
    if (std::any_of(named.begin(), named.end(), isAccused) &&
        (accusation.messenger == nullptr || key(end) < key(*accusation.messenger))) {
      accusation.messenger = &end;
    }
  }
  if (accusation.messenger != nullptr) {
    accusation.fault = accusation.messenger->words.fault;
  }
  return accusation;
}

std::string sentence(const Accusation& accusation, const std::vector<RankEnd>& ends) {
  const std::string who = base::ranksText(accusation.ranks);
  const bool one = accusation.ranks.size() == 1;
  // Half against half, or each against each: nobody is called wrong.
  const bool noMajority = 2 * accusation.ranks.size() >= ends.size();
  const std::string& place = endOf(ends, accusation.ranks.front())->words.lastIn;
  switch (accusation.fault) {
    case trace::Fault::kOtherCall:
      return one          ? fmt::format("{} made another call than the other ranks, {}", who, place)
             : noMajority ? fmt::format(
                                "{} did not make the same call, and no majority tells which "
                                "was wrong",
                                who)
                          : fmt::format("{} made other calls than most ranks", who);
    case trace::Fault::kDidNotCome:
      return one ? fmt::format("{} did not come to what was waited for, {}", who, place)
                 : fmt::format("{} did not come to what was waited for", who);
    case trace::Fault::kGone:
      return fmt::format("{} had finished and left while {} still needed", who,
                         one ? "it was" : "they were");
    case trace::Fault::kOtherModel:
      return one || !noMajority
                 ? fmt::format("{} built another model, or {} other settings, than the other ranks",
                               who, one ? "has" : "have")
                 : fmt::format(
                       "{} did not build the same model and settings, and no majority tells "
                       "which was wrong",
                       who);
    case trace::Fault::kNone:
      break;
  }
  return "";
}

/// The ranks that ran out of inputs where others did not; empty otherwise.
std::vector<int> ranEarly(const std::vector<RankEnd>& ends) {
  std::vector<int> ranks;
  for (const RankEnd& end : ends) {
    if (end.words.inputsEnded) {
      ranks.push_back(end.rank);
    }
  }
  // Where all ran out together that was the end of training, and no cause of anything.
  return ranks.size() == ends.size() ? std::vector<int>{} : ranks;
}

}  // namespace

bool endedWell(const RankEnd& end) {
  return end.lost.empty() && end.end.signal == 0 && end.end.exitCode == 0 && end.words.finished;
}

std::string describe(const RankEnd& end) {
  const std::string who = fmt::format("rank {}", end.rank);
  if (!end.lost.empty()) {
    return fmt::format("{} was lost, last seen {}: {}", who, end.words.lastIn, end.lost);
  }
  if (end.end.signal != 0) {
    std::string text = fmt::format("{} was {} by {} {}", who, end.killedByUs ? "killed" : "ended",
                                   signalName(end.end.signal), end.words.diedIn);
    return end.words.error.empty() ? text : text + ": " + end.words.error;
  }
  if (endedWell(end)) {
    return who + " finished";
  }
  if (end.end.exitCode == static_cast<int>(ExitCode::kInterrupted)) {
    return fmt::format("{} stopped {}", who, end.words.lastIn);
  }
  std::string text =
      end.end.exitCode == 0
          ? fmt::format("{} ended with exit code 0 before its work was done, {}", who,
                        end.words.lastIn)
          : fmt::format("{} failed{} {}", who,
                        end.isCodeKnown ? fmt::format(" (exit code {})", end.end.exitCode) : "",
                        end.words.lastIn);
  const std::string& reason = end.words.error.empty() ? end.lastErrorLine : end.words.error;
  return reason.empty() ? text : text + ": " + reason;
}

Verdict judge(const std::vector<RankEnd>& ends) {
  const auto rootOf = [&](const RankEnd* but) {
    const RankEnd* root = nullptr;
    const auto key = [](const RankEnd& end) { return std::tuple(causeOf(end), end.order); };
    for (const auto& end : ends) {
      if (&end != but && !endedWell(end) && (root == nullptr || key(end) < key(*root))) {
        root = &end;
      }
    }
    return root;
  };
  // The first in the order of causes; among equals the one that ended first.
  const RankEnd* const root = rootOf(nullptr);
  if (root == nullptr) {
    return {};
  }
  const Cause cause = causeOf(*root);
  if (cause == Cause::kCommError || (cause == Cause::kOwnError && !root->words.culprits.empty())) {
    // Who says it is seldom who did it.
    if (const std::vector<int> early = ranEarly(ends); !early.empty()) {
      return {
          trace::RunState::kFailed, exitCodeOf(*root),
          fmt::format(
              "{} ran out of inputs before the others, {}: set ddp.join = true, which "
              "answers the others until they are done, or give every rank the same number; {}",
              base::ranksText(early), endOf(ends, early.front())->words.lastIn, describe(*root)) +
              survivors(ends),
          early.front()};
    }
    if (const Accusation found = accusationOf(ends); found.messenger != nullptr) {
      return {trace::RunState::kFailed, exitCodeOf(*found.messenger),
              sentence(found, ends) + "; " + describe(*found.messenger) +
                  survivors(ends, found.ranks.size() == 1 ? found.ranks.front() : -1),
              found.ranks.front()};
    }
  }
  const bool suspended = cause == Cause::kSuspended;
  // Who was suspended made no mistake that a code could tell: the run's is that of who waited.
  const RankEnd* const messenger = suspended ? rootOf(root) : nullptr;
  std::string failure = suspended ? killed(*root) + ", " + root->words.lastIn : describe(*root);
  if (messenger != nullptr && !messenger->killedByUs) {
    failure += "; " + describe(*messenger);
  }
  std::vector<RankEnd> others;
  std::copy_if(ends.begin(), ends.end(), std::back_inserter(others),
               [&](const RankEnd& end) { return &end != root; });
  return {trace::RunState::kFailed, exitCodeOf(messenger == nullptr ? *root : *messenger),
          failure + survivors(others), root->rank};
}

}  // namespace lockstep::launch
