#include "engine/launch/Verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace lockstep::launch {
namespace {

using base::ExitCode;

enum class Cause { kSignalOrLost, kOwnError, kSuspended, kCommError, kKilledByUs };

Cause causeOf(const RankEnd& end) {
  if (!end.lost.empty()) {
    return Cause::kSignalOrLost;
  }
  if (end.end.signal != 0) {
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
  return fmt::format("rank {} {} and was killed, {}", end.rank,
                     end.wasSuspended ? "was suspended (SIGSTOP)" : "did not end by itself",
                     end.words.lastIn);
}

/// What the supervisor had to end counts as a consequence, but who it was tells the reader
/// whom the others waited for.
std::string survivors(const std::vector<RankEnd>& ends) {
  std::string text;
  for (const auto& end : ends) {
    if (end.killedByUs) {
      text += "; " + killed(end);
    }
  }
  return text;
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
                                   signalName(end.end.signal), end.words.lastIn);
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
  const RankEnd* const root = rootOf(nullptr);
  if (root == nullptr) {
    return {};
  }
  const bool suspended = causeOf(*root) == Cause::kSuspended;
  // Who was suspended made no mistake that a code could tell: the run's is that of who waited.
  const RankEnd* const messenger = suspended ? rootOf(root) : nullptr;
  std::string failure = suspended ? killed(*root) : describe(*root);
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
