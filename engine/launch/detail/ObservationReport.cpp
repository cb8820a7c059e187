// How a job that was recorded ended: what its ranks' and its commands' ends come to.

#include <signal.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "engine/launch/detail/Observation.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/trace/Event.h"

namespace lockstep::launch::detail {
namespace {

using base::ExitCode;
using trace::RunState;

/// Whether an error only says that another rank went away or stood still.
/// Texts of c10d, Gloo and the store, as they come from Python: what a job's process failed with
/// has no code that would tell.
bool isOfAMessenger(std::string_view error) {
  constexpr std::array kSigns{"Connection closed by peer", "Connection reset by peer",
                              "Connection refused",        "Broken pipe",
                              "Timed out waiting",         "timed out",
                              "DistBackendError",          "DistNetworkError",
                              "recvValue failed"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](const char* sign) { return error.find(sign) != std::string_view::npos; });
}

/// How far a rank has come in its iteration, in the order in which it passes what needs all ranks;
/// -1: that cannot be told.
int stageOf(const Obituary& words) {
  if (words.phase == trace::EventKind{}) {  // none yet
    return 0;
  }
  switch (words.phase) {
    case trace::EventKind::kData:
    case trace::EventKind::kEvaluate:
    case trace::EventKind::kCheckpoint:
      return 0;
    case trace::EventKind::kForward:
      return 1;  // of which the buffers' broadcast is a part
    case trace::EventKind::kBackward:
      return 2;
    default:
      return -1;
  }
}

/// Whether `words` are of a rank that had still to come to what `waiting` was in.
bool isBehind(const Obituary& words, const Obituary& waiting) {
  const int stage = stageOf(words);
  return words.training && (words.step < waiting.step ||
                            (words.step == waiting.step && 0 <= stage && stage < stageOf(waiting)));
}

/// "was ended by SIGTERM", "ended with exit code 3".
std::string howItEnded(const posix::ProcessEnd& end) {
  return end.signal != 0 ? "was ended by " + signalName(end.signal)
                         : fmt::format("ended with exit code {}", end.exitCode);
}

int codeOf(const posix::ProcessEnd& end) {
  return end.signal != 0 ? 128 + end.signal : end.exitCode;
}

}  // namespace

/// Whether others did more steps than they can with a rank that is gone: it was lost to the
/// recorder alone.
bool Observation::othersWentOnWithout(int rank) const {
  const std::uint32_t seen = lastWords(rank).step;
  for (int other = 0; other < static_cast<int>(processes_.size()); ++other) {
    const Process& process = processes_[static_cast<std::size_t>(other)];
    // One step more may have been under way without it; two cannot be trained where every step
    // needs all ranks.
    if (process.hasAttached && process.lost.empty() && lastWords(other).step > seen + 1) {
      return true;
    }
  }
  return false;
}

/// How each rank ended. The kernel tells that of our own child alone; of the others it is known
/// what they said last, and how the command came out that started them.
std::vector<RankEnd> Observation::ends() const {
  std::vector<RankEnd> ends;
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    const Process& process = processes_[static_cast<std::size_t>(rank)];
    if (!process.hasAttached) {
      continue;
    }
    RankEnd& end = ends.emplace_back();
    end.rank = rank;
    // One that outlives the command ends after all others.
    end.order = process.isHere ? ended_ : process.order;
    end.words = lastWords(rank);
  }
  std::sort(ends.begin(), ends.end(),
            [](const RankEnd& a, const RankEnd& b) { return a.order < b.order; });
  bool failed = false;
  for (RankEnd& end : ends) {
    const Process& process = processes_[static_cast<std::size_t>(end.rank)];
    const Part& command = commands_.at(process.part);
    // The command trains itself, without torchrun: the kernel tells its end.
    if (process.pid == command.pid && command.end) {
      end.end = *command.end;
      end.words.finished = command.succeeded();
      end.lastErrorLine = command.errorTail.lastLine();
      failed |= !endedWell(end);
      continue;
    }
    end.isCodeKnown = false;
    if (!process.lost.empty()) {
      end.lost = process.lost;
    } else if (!end.words.error.empty()) {
      end.end.exitCode =
          isOfAMessenger(end.words.error) ? static_cast<int>(ExitCode::kCommFailed) : 1;
    // Nothing speaks against it: the command that started it is content, or it still lives.
    } else if (command.succeeded() || process.isHere) {
      end.words.finished = true;  // a process need not say so: os._exit()
    } else if (!end.words.finished && process.wasSuspended) {
      end.end.signal = SIGKILL;  // no other ends one that is suspended
      end.killedByUs = true;
      end.wasSuspended = true;
    } else if (!end.words.finished && failed) {
      end.end.signal = SIGTERM;  // as torchrun ends those that are left
      end.killedByUs = true;
    } else if (!end.words.finished) {
      end.lost = "its process ended without a word, as one does that is killed";
    }
    failed |= !endedWell(end);
  }
  nameWhoDidNotCome(ends);
  return ends;
}

/// An error of Gloo's or NCCL's says that a wait was in vain, and not for whom. That was who had
/// not come as far when it failed, and was ended where it stood; of those, who was last.
void Observation::nameWhoDidNotCome(std::vector<RankEnd>& ends) const {
  for (RankEnd& waiting : ends) {
    if (waiting.isCodeKnown || waiting.end.exitCode != static_cast<int>(ExitCode::kCommFailed)) {
      continue;
    }
    const std::uint64_t failedAt = processes_[static_cast<std::size_t>(waiting.rank)].endedAt;
    std::vector<const RankEnd*> stood;
    for (const RankEnd& end : ends) {
      if (end.killedByUs && !end.wasSuspended && end.words.sinceTicks < failedAt &&
          isBehind(end.words, waiting.words)) {
        stood.push_back(&end);
      }
    }
    for (const RankEnd* end : stood) {
      if (std::none_of(stood.begin(), stood.end(), [end](const RankEnd* other) {
            return isBehind(other->words, end->words);
          })) {
        waiting.words.fault = trace::Fault::kDidNotCome;
        waiting.words.culprits.push_back(end->rank);
      }
    }
  }
}

void Observation::recordEnds(const std::vector<RankEnd>& ends) {
  for (const RankEnd& end : ends) {
    const bool well = endedWell(end);
    const Process& process = processes_[static_cast<std::size_t>(end.rank)];
    recorder_->updateRank(end.rank, [&](trace::RankInfo& info) {
      info.state = well                           ? "finished"
                   : pressure_ != Pressure::kNone ? "stopped"
                   : !end.lost.empty()            ? "lost"
                   : end.end.signal != 0          ? "killed"
                                                  : "failed";
      info.signal = end.end.signal;
      info.lastWords = well ? "" : describe(end);
    });
    recorder_->addLog(-1, process.isHere ? fmt::format("rank {}'s process {} outlives the command",
                                                       end.rank, process.pid)
                                         : describe(end));
  }
}

/// This host's command where it failed, or else the first other one that did; null: none.
const Observation::Part* Observation::failedCommand() const {
  if (const Part& own = commands_.at(kHere); !own.succeeded()) {
    return &own;
  }
  const Part* first = nullptr;
  for (const auto& [id, command] : commands_) {
    // Those of other hosts may well be a consequence of one another: the one that ended first
    // counts.
    if (command.end && !command.succeeded() && (first == nullptr || command.order < first->order)) {
      first = &command;
    }
  }
  return first;
}

JobOutcome Observation::conclude() {
  for (auto& [part, command] : commands_) {
    for (LineSplitter& lines : command.lines) {
      lines.flush([&, id = part](std::string_view line) { keepLine(id, line); });
    }
  }
  JobOutcome outcome;
  outcome.stopped = pressure_ != Pressure::kNone;
  outcome.exitCode = codeOf(*commands_.at(kHere).end);
  outcome.warning = lost_;
  const Part* const failed = failedCommand();
  if (outcome.stopped) {
    outcome.state = RunState::kStopped;
  } else if (failed != nullptr) {
    outcome.state = RunState::kFailed;
    outcome.failure =
        fmt::format("{} {}",
                    failed == &commands_.at(kHere) ? options_.command.front()
                                                   : "the command on host " + failed->host,
                    howItEnded(*failed->end));
  }
  if (!recorder_) {
    outcome.warning =
        "nothing was recorded, since no process of the command attached: watch its model "
        "(import lockstep; lockstep.watch(ddp_model, optimizer)), or, if that was not given, "
        "record with --attach auto";
    return outcome;
  }
  const std::vector<RankEnd> ends = this->ends();
  recordEnds(ends);
  int culprit = -1;
  if (outcome.state == RunState::kFailed) {
    // A rank whose host was lost to the recorder may have trained on: only where the others stopped
    // with it did it go itself.
    const auto isAccused = [&](int rank) {
      return std::any_of(ends.begin(), ends.end(), [rank](const RankEnd& end) {
        const auto& named = end.words.culprits;
        return std::find(named.begin(), named.end(), rank) != named.end();
      });
    };
    // Those that ended by themselves, as far as can be told, and whom they waited for.
    std::vector<RankEnd> own;
    std::copy_if(ends.begin(), ends.end(), std::back_inserter(own), [&](const RankEnd& end) {
      const Process& process = processes_[static_cast<std::size_t>(end.rank)];
      return (!end.killedByUs || end.wasSuspended || isAccused(end.rank)) &&
             (process.lost.empty() || !othersWentOnWithout(end.rank));
    });
    if (const Verdict verdict = judge(own); !verdict.failure.empty()) {
      outcome.failure = verdict.failure;
      culprit = verdict.rank;
    }
    recorder_->addProblem(
        {0, "error", culprit, culprit < 0 ? 0 : lastWords(culprit).step, outcome.failure});
  }
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    if (!processes_[static_cast<std::size_t>(rank)].hasAttached) {
      recorder_->addProblem(
          {0, "warning", rank, 0,
           fmt::format("rank {} never attached: nothing of it is recorded", rank)});
    }
  }
  if (!outlives_.empty()) {
    recorder_->addProblem(
        {0, "warning", -1, 0,
         fmt::format("the command of this host has ended, and that of {} goes on: it is recorded "
                     "no further",
                     outlives_)});
  }
  for (const auto& [part, command] : commands_) {
    if (const std::string leftOut = command.kept.text(); !leftOut.empty()) {
      const std::string whose = part == kHere ? "" : " on host " + command.host;
      recorder_->addProblem(
          {0, "warning", -1, 0, fmt::format("the command's output{}: {}", whose, leftOut)});
    }
  }
  const int exitCode = failed == nullptr ? 0 : codeOf(*failed->end);
  recordEnd(*recorder_, outcome.state, exitCode, outcome.failure);
  return outcome;
}

}  // namespace lockstep::launch::detail
