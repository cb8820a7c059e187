// What the ranks of a job do when something goes wrong between them.

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "engine/base/ExitCodes.h"
#include "engine/process_group/mpi/Mpi.h"
#include "tests/engine/process_group/AbortRounds.h"
#include "tests/engine/process_group/GroupThreads.h"
#include "tests/engine/process_group/mpi/RankGroup.h"
#include "tests/support/ChildRole.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Strings = std::vector<std::string>;

// Called before each MPI_Isend of this process, whose result it is unless it is MPI_SUCCESS.
std::function<int()> beforeSend;

template <typename... T>
void say(fmt::format_string<T...> text, T&&... values) {
  // One write, so that the lines of ranks do not mix.
  const std::string line =
      fmt::format("rank {}: {}\n", processRank(), fmt::format(text, std::forward<T>(values)...));
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
  std::ofstream(saidFile(std::getenv(kStoreVariable)), std::ios::app) << line;
}

// Waits until each of `ranks` has come here, without MPI.
void meet(const std::string& where, const std::vector<int>& ranks) {
  const auto store = processStore();
  store->set(fmt::format("{}/{}", where, processRank()), "");
  Strings keys;
  for (const int rank : ranks) {
    keys.push_back(fmt::format("{}/{}", where, rank));
  }
  store->wait(keys, seconds(30));
}

// As lockstep-rank leaves after a failed collective.
[[noreturn]] void leave() {
  std::fflush(stdout);
  std::_Exit(static_cast<int>(base::ExitCode::kCommFailed));
}

CallOptions within(milliseconds timeout, std::uint16_t bucket) {
  CallOptions options;
  options.timeout = timeout;
  options.bucket = bucket;
  return options;
}

void sayError(const ProcessGroup::WorkPtr& work) {
  try {
    work->wait();
    say("no error");
  } catch (const CommError& error) {
    say("{} error: {}", name(error.kind()), error.what());
  }
}

// Rank 2 takes part in the first allreduce and in nothing else, the second group neither.
int absent(const Strings&) {
  const auto group = processGroup(quickOptions());
  group->allreduce({filled(4, 1)})->wait();
  if (processRank() == 2) {
    processStore()->wait({"never"}, seconds(60));
    return 0;
  }
  GroupOptions options = quickOptions(milliseconds(400));
  options.groupName = "late";
  const auto made = makeProcessGroup("mpi", processStore(), processRank(), 3, options);
  say("{}", made.ok() ? "made" : made.error().message());
  const auto first = group->allreduce({filled(4, 1)}, ReduceOp::kSum, within(milliseconds(400), 7));
  const auto second = group->allreduce({filled(4, 1)}, ReduceOp::kMax);
  sayError(first);
  sayError(second);
  say("state {}", name(group->state()));
  const auto later = group->barrier();
  say("later call completed {}", later->isCompleted());
  sayError(later);
  meet("said", {0, 1});
  leave();
}

// Rank 0 waits on five threads and is told to stop.
int aborted(const Strings&) {
  const auto group = processGroup(quickOptions());
  if (processRank() != 0) {
    processStore()->wait({"aborted"}, seconds(30));
    leave();
  }
  std::vector<ProcessGroup::WorkPtr> works;
  for (int i = 0; i < 3; ++i) {
    works.push_back(group->allreduce({filled(1, 1)}));
  }
  works.push_back(group->recv(filled(1, 1), 1));
  works.push_back(group->send(filled(1, 1), 1));
  std::vector<std::future<std::string>> waiters;
  for (const auto& work : works) {
    waiters.push_back(std::async(std::launch::async,
                                 [work] { return textOf<CommError>([&] { work->wait(); }); }));
  }
  const auto begin = std::chrono::steady_clock::now();
  group->abort("the user pressed stop");
  for (auto& waiter : waiters) {
    say("{}", waiter.get());
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  say("woken within a second {}", took < seconds(1));
  sayError(group->barrier());
  processStore()->set("aborted", "");
  leave();
}

// Rank 1 dies in the middle of an allreduce.
int killed(const Strings&) {
  const auto group = processGroup(quickOptions());
  group->barrier()->wait();
  const auto work = group->allreduce({filled(5'000'000, 1)});
  if (processRank() == 1) {
    raise(SIGKILL);
  }
  sayError(work);
  leave();
}

// A group of two that reaches across two jobs; the argument is the rank.
int alone(const Strings& arguments) {
  auto made =
      makeProcessGroup("mpi", processStore(), std::stoi(arguments.at(0)), 2, quickOptions());
  say("{}", made.ok() ? "made" : made.error().message());
  return made.ok() ? 0 : static_cast<int>(made.error().code);
}

// Rank 2 calls another size, in a group that is checked and in one that is not.
int mismatched(const Strings&) {
  GroupOptions options = quickOptions();
  options.check = CheckMode::kAlways;
  options.groupName = "checked";
  const auto checked = processGroup(options);
  const auto plain = processGroup(quickOptions());
  const at::Tensor tensor = at::ones({processRank() == 2 ? 5 : 4});
  sayError(checked->allreduce({tensor}));
  sayError(plain->reduceScatter(at::empty_like(tensor), {tensor, tensor, tensor}, ReduceOp::kSum,
                                within(seconds(5), trace::kNoBucket)));
  meet("said", {0, 1, 2});
  leave();
}

// Rank 0 fails for a reason of its own while all groups are well.
int fails(const Strings&) {
  const auto group = processGroup(quickOptions());
  group->barrier()->wait();
  if (processRank() == 0) {
    std::exit(static_cast<int>(base::ExitCode::kBadInput));
  }
  sayError(group->allreduce({filled(1, 1)}));
  leave();
}

// MPI refuses what rank 0 sends.
int refused(const Strings&) {
  const auto group = processGroup(quickOptions());
  group->barrier()->wait();
  if (processRank() == 0) {
    beforeSend = [] { return MPI_ERR_OTHER; };
    sayError(group->send(filled(1, 1), 1));
    sayError(group->recv(filled(1, 1), 1));
  }
  meet("said", {0, 1});
  leave();
}

// Rank 0 is told to stop while MPI takes what it sends, and has called send once more.
int abortedAtSend(const Strings&) {
  const auto group = processGroup(quickOptions());
  group->barrier()->wait();
  if (processRank() == 0) {
    std::promise<void> sends;
    std::promise<void> stopped;
    beforeSend = [&, isFirst = true]() mutable {
      if (std::exchange(isFirst, false)) {
        sends.set_value();
        stopped.get_future().wait();
      }
      return MPI_SUCCESS;
    };
    const auto first = group->send(filled(1, 1), 1);
    sends.get_future().wait();
    const auto second = group->send(filled(1, 1), 1);
    group->abort("the user pressed stop");
    stopped.set_value();
    sayError(first);
    sayError(second);
  }
  GroupOptions options = quickOptions();
  options.groupName = "next";
  processGroup(options)->barrier()->wait();
  say("has another group");
  meet("said", {0, 1});
  leave();
}

// Rounds of AbortRounds.h, each with a group of its own.
int abortsInRounds(const Strings& arguments) {
  const auto store = processStore();
  std::vector<int> all;
  for (int rank = 0; rank < processCount(); ++rank) {
    all.push_back(rank);
  }
  std::size_t lost = 0;
  for (int number = 0; number < std::atoi(arguments.at(0).c_str()); ++number) {
    AbortRound round = AbortRound::of(number, processCount());
    round.oneMore = false;
    const std::string name = fmt::format("round {}", number);
    GroupOptions options = quickOptions();
    options.groupName = name;
    const auto group = processGroup(options);
    const std::vector<std::string> here = stepsLostBy(
        *group, round,
        {[&] { meet(name + "/called", all); }, [&] { store->set(name + "/aborted", ""); },
         [&] { store->wait({name + "/aborted"}, seconds(30)); }});
    for (const std::string& step : here) {
      say("lost in {}, {}: {}", name, round.text(), step);
    }
    lost += here.size();
    meet(name + "/over", all);  // before MPI makes the next group
  }
  say("lost {} steps in all", lost);
  meet("said", all);
  leave();
}

const support::RegisterChildRole abortsInRoundsRole("aborts in rounds", abortsInRounds);
const support::RegisterChildRole absentRole("absent", absent);
const support::RegisterChildRole abortedRole("aborted", aborted);
const support::RegisterChildRole killedRole("killed", killed);
const support::RegisterChildRole aloneRole("alone", alone);
const support::RegisterChildRole mismatchedRole("mismatched", mismatched);
const support::RegisterChildRole failsRole("fails", fails);
const support::RegisterChildRole refusedRole("refused", refused);
const support::RegisterChildRole abortedAtSendRole("aborted at send", abortedAtSend);

}  // namespace
}  // namespace lockstep::process_group

// Comes before MPI's own, which has the other name for this purpose (MPI's profiling interface).
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  const auto& before = lockstep::process_group::beforeSend;
  const int result = before ? before() : MPI_SUCCESS;
  return result == MPI_SUCCESS ? PMPI_Isend(data, count, type, to, tag, comm, request) : result;
}
