#include "engine/process_group/MonitoredBarrier.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"
#include "engine/process_group/Arguments.h"
#include "engine/process_group/Call.h"

namespace lockstep::process_group {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How much longer the others wait for rank 0, so that they hear from it whom it missed.
constexpr milliseconds kAnswer = std::chrono::seconds(1);

at::Tensor flags(int count) {
  return at::zeros({count}, at::TensorOptions().dtype(at::kByte));
}

CommError failure(const ProcessGroup& group, const std::string& what, CommErrorKind kind,
                  int peer) {
  CommError::Where where;
  where.group = group.groupName();
  where.rank = group.rank();
  where.operation = trace::Operation::kBarrier;
  where.kind = kind;
  where.timedOut = kind == CommErrorKind::kTimeout;
  where.peer = peer;
  return CommError(std::move(where), what);
}

std::string missingText(const std::vector<int>& missing, milliseconds timeout) {
  return fmt::format("{} failed to pass monitoredBarrier in {} ms",
                     base::numberedText("Rank", missing), timeout.count());
}

// Waits for `work`, at most until `deadline`; false when the time passed first.
bool waitUntil(Work& work, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return work.future().waitFor(std::max(left, milliseconds(0)));
}

// Note [How a monitored barrier ends]
//
//    rank r                         rank 0
//    recv answer  ┐ both called     recv from 1, 2, ... all called at once
//    send "here" ─┴───────────────▶ waits for each until the one deadline
//    waits for the answer           sends those that came who is missing (a flag a rank)
//    ◀──────────────────────────────┘ and aborts its group when anybody is
//
// Rank 0 decides, so all ranks that came hear the same. They wait a second longer than it does
// (kAnswer), or their own limit would pass while the answer is on its way. The receives have a
// limit that is far beyond both: it must never be what ends them, since it would name a receive and
// not the barrier. c10d does the same by send and recv, with one time budget for all ranks.
void rankZero(ProcessGroup& group, milliseconds timeout, bool waitAllRanks) {
  const auto deadline = Clock::now() + timeout;
  CallOptions options;
  options.timeout = timeout + 4 * kAnswer;  // ended below before that
  std::vector<ProcessGroup::WorkPtr> arrivals(1);
  for (int rank = 1; rank < group.size(); ++rank) {
    arrivals.push_back(group.recv(flags(1), rank, kMonitoredBarrierTag, options));
  }
  std::vector<int> missing;
  std::vector<int> arrived{0};
  CommErrorKind kind = CommErrorKind::kTimeout;
  std::string lower;
  // One after the other, but against one deadline: who came early costs no time.
  for (int rank = 1; rank < group.size(); ++rank) {
    Work& arrival = *arrivals[static_cast<std::size_t>(rank)];
    // Without waitAllRanks the first that is missing ends the waiting; a look at the others without
    // waiting tells who else has not come.
    const bool done = waitUntil(arrival, missing.empty() || waitAllRanks ? deadline : Clock::now());
    if (done && arrival.isSuccess()) {
      arrived.push_back(rank);
      continue;
    }
    missing.push_back(rank);
    if (done && lower.empty()) {
      try {
        std::rethrow_exception(arrival.exception());
      } catch (const CommError& error) {
        // One lost peer ends all receives, so they all name it.
        lower = error.reason();
        kind = error.kind();
        missing.assign(1, error.where().peer > 0 ? error.where().peer : rank);
        break;
      }
    }
  }

  std::string text = missing.empty() ? "" : missingText(missing, timeout);
  if (!lower.empty()) {
    text += ": " + lower;
  } else if (!missing.empty()) {
    text += fmt::format("; {} came", base::ranksText(arrived));
  }
  at::Tensor answer = flags(group.size());
  for (const int rank : missing) {
    answer.data_ptr<std::uint8_t>()[rank] = 1;
  }
  std::vector<ProcessGroup::WorkPtr> answers;
  for (const int rank : arrived) {
    // With a broken connection (`lower`) the group can send nothing any more.
    if (rank != 0 && lower.empty()) {
      answers.push_back(group.send(answer, rank, kMonitoredBarrierTag, options));
    }
  }
  const auto answered = Clock::now() + kAnswer;
  for (const auto& sent : answers) {
    // Nobody is missing: the answer must arrive. Otherwise a second is given to it, and the group
    // is aborted.
    if (missing.empty()) {
      sent->wait();
    } else {
      static_cast<void>(waitUntil(*sent, answered));
    }
  }
  if (!missing.empty()) {
    group.abort(text);
    throw failure(group, text, kind, missing.front());
  }
}

void otherRank(ProcessGroup& group, milliseconds timeout) {
  CallOptions options;
  options.timeout = timeout + 4 * kAnswer;
  at::Tensor answer = flags(group.size());
  // The receive first: the answer finds it waiting, however fast rank 0 is.
  const auto received = group.recv(answer, 0, kMonitoredBarrierTag, options);
  const auto sent = group.send(flags(1), 0, kMonitoredBarrierTag, options);
  const auto complain = [&](const std::string& what, CommErrorKind kind) {
    const std::string text = fmt::format(
        "Rank {} successfully reached monitoredBarrier, but received errors while waiting for "
        "send/recv from rank 0: {}",
        group.rank(), what);
    // Rank 0 may still wait for this rank's message, and others for rank 0.
    group.abort(text);
    return failure(group, text, kind, 0);
  };
  if (!waitUntil(*received, Clock::now() + timeout + kAnswer)) {
    throw complain(fmt::format("no answer in {} ms", (timeout + kAnswer).count()),
                   CommErrorKind::kTimeout);
  }
  try {
    received->wait();
    sent->wait();
  } catch (const CommError& error) {
    throw complain(error.reason(), error.kind());
  }
  std::vector<int> missing;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (answer.data_ptr<std::uint8_t>()[rank] != 0) {
      missing.push_back(rank);
    }
  }
  if (!missing.empty()) {
    throw failure(group, "rank 0 says: " + missingText(missing, timeout), CommErrorKind::kRemote,
                  missing.front());
  }
}

}  // namespace

void monitoredBarrier(ProcessGroup& group, milliseconds timeout, bool waitAllRanks) {
  const Arguments arguments(group.backendName(), trace::Operation::kBarrier, group.size());
  arguments.timeout(timeout);
  const milliseconds limit = timeLimit(timeout, group.timeout());
  if (group.size() == 1) {
    return;
  }
  if (group.rank() == 0) {
    rankZero(group, limit, waitAllRanks);
  } else {
    otherRank(group, limit);
  }
}

}  // namespace lockstep::process_group
