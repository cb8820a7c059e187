// What becomes of the logs of an NCCL Inspector: ranks, and spans of NCCL's kernels.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "engine/import/NcclInspector.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;

constexpr std::size_t kMostCommunicators = 128;  // a kernel's detail has 7 bits for them

/// Numbers for communicators, the same in all processes: that of all processes first. Those with as
/// many members keep the order in which they were first seen; beyond the 128th all share a number.
std::map<std::string, std::size_t> numbersOf(const std::vector<InspectorLog>& logs) {
  std::map<std::string, std::size_t> members;
  std::vector<std::string> order;
  for (const InspectorLog& log : logs) {
    for (const InspectorCommunicator& communicator : log.communicators) {
      if (members[communicator.id]++ == 0) {
        order.push_back(communicator.id);
      }
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    return members[a] > members[b];
  });
  std::map<std::string, std::size_t> numbers;
  for (const std::string& id : order) {
    numbers.emplace(id, std::min(numbers.size(), kMostCommunicators - 1));
  }
  return numbers;
}

/// The communicator that all processes share, the largest of these; empty: there is none.
std::string worldOf(const std::vector<InspectorLog>& logs) {
  const auto has = [](const InspectorLog& log, const std::string& id) {
    return std::any_of(log.communicators.begin(), log.communicators.end(),
                       [&](const InspectorCommunicator& other) { return other.id == id; });
  };
  std::string world;
  int most = 0;
  for (const InspectorCommunicator& communicator : logs.front().communicators) {
    const bool isOfAll = std::all_of(logs.begin(), logs.end(), [&](const InspectorLog& log) {
      return has(log, communicator.id);
    });
    if (isOfAll && communicator.ranks > most) {
      world = communicator.id;
      most = communicator.ranks;
    }
  }
  return world;
}

const InspectorCommunicator& communicatorOf(const InspectorLog& log, const std::string& id) {
  return *std::find_if(log.communicators.begin(), log.communicators.end(),
                       [&](const InspectorCommunicator& other) { return other.id == id; });
}

/// How many collectives NCCL counted between the first and the last of each function, and are not
/// in the log.
NoteCount missingOf(const InspectorLog& log) {
  struct Range {
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t last = 0;
    std::set<std::uint64_t> seen;
  };
  std::map<std::pair<std::uint32_t, trace::Operation>, Range> ranges;
  for (const InspectorRecord& record : log.records) {
    Range& range = ranges[{record.communicator, record.operation}];
    range.first = std::min(range.first, record.sequence);
    range.last = std::max(range.last, record.sequence);
    range.seen.insert(record.sequence);
  }
  NoteCount missing;
  for (const auto& [function, range] : ranges) {
    const auto counted = static_cast<std::size_t>(range.last - range.first + 1);
    missing.all += counted;
    missing.some += counted - range.seen.size();
  }
  return missing;
}

RankTimeline timelineOf(const InspectorLog& log,
                        const std::map<std::string, std::size_t>& numbers) {
  RankTimeline made;
  made.lanes = {"step", "ddp"};
  std::vector<std::uint32_t> lanes;
  for (const InspectorCommunicator& communicator : log.communicators) {
    lanes.push_back(static_cast<std::uint32_t>(made.lanes.size()));
    made.lanes.push_back(fmt::format("nccl {} kernels", numbers.at(communicator.id)));
  }
  std::vector<std::int64_t> nextBegin(lanes.size(), std::numeric_limits<std::int64_t>::max());
  std::size_t untimed = 0;
  std::size_t byHost = 0;
  // Backwards: a record without times ends when its line was written or, if that is earlier, where
  // the next one of its communicator begins, which must be known by then.
  for (auto record = log.records.rbegin(); record != log.records.rend(); ++record) {
    const InspectorCommunicator& communicator = log.communicators[record->communicator];
    const bool isTimed = record->endNs > 0;
    std::int64_t& next = nextBegin[record->communicator];
    TimedEvent& event = made.events.emplace_back();
    event.kind = trace::EventKind::kNcclKernel;
    event.lane = lanes[record->communicator];
    event.endNs = isTimed ? record->endNs : std::min(record->dumpNs, next);
    event.beginNs =
        // The device's clock is better for a duration than what the host heard: then the end stands
        // and the begin follows from it.
        isTimed && !record->byDevice ? record->beginNs : event.endNs - record->durationNs;
    event.detail = trace::packOperation(record->operation,
                                        static_cast<std::uint8_t>(numbers.at(communicator.id)));
    if (record->byDevice) {
      event.detail |= trace::kByDevice;
    }
    event.value = trace::packCollective(record->sequence, record->bytes);
    next = event.beginNs;
    untimed += isTimed ? 0 : 1;
    byHost += record->byDevice ? 0 : 1;
  }
  made.notes.insert(
      "an NCCL Inspector knows NCCL's kernels alone: it is shown without iterations, buckets and "
      "who came last");
  const std::size_t all = log.records.size();
  if (untimed > 0) {
    made.counts
        ["of {0} of its {1} collectives the Inspector says how long they took, and not when "
         "(NCCL_INSPECTOR_DUMP_VERBOSE=1 would): they stand as late as they can"] = {untimed, all};
  }
  if (byHost > 0) {
    made.counts["{0} of its {1} collectives were timed by the host, and not by the device"] = {
        byHost, all};
  }
  if (const NoteCount missing = missingOf(log); missing.some > 0) {
    made.counts
        ["of {1} collectives that NCCL counted {0} are not in the Inspector's file, which has "
         "those that it found over whenever it looked"] = missing;
  }
  if (log.others > 0) {
    made.counts
        ["{0} of its lines tell of something else than collectives, sends and receives, and "
         "are left out"]
            .some = log.others;
  }
  if (log.isCutOff) {
    made.notes.insert("the last line of the Inspector's file is cut off, and left out");
  }
  return made;
}

}  // namespace

base::Result<Job> jobOf(std::vector<InspectorLog> logs, std::vector<std::string>& notes) {
  std::sort(logs.begin(), logs.end(), [](const InspectorLog& a, const InspectorLog& b) {
    return std::tie(a.hostName, a.pid) < std::tie(b.hostName, b.pid);
  });
  for (std::size_t i = 1; i < logs.size(); ++i) {
    if (logs[i].hostName == logs[i - 1].hostName && logs[i].pid == logs[i - 1].pid) {
      return Error{ExitCode::kBadInput,
                   fmt::format("is of process {} on {}, as {} is: import one of the two",
                               logs[i].pid, logs[i].hostName, logs[i - 1].path.string()),
                   logs[i].path.string()};
    }
  }
  // Sorted by host and process, the ranks of a job without a common communicator are numbered alike
  // at each import.
  const std::string world = worldOf(logs);
  const auto numbers = numbersOf(logs);
  if (world.empty()) {
    notes.emplace_back(
        "no communicator has all processes whose files were imported: ranks are numbered by host "
        "and "
        "process, and need not be the job's own");
  }
  if (numbers.size() > kMostCommunicators) {
    notes.push_back(fmt::format("there are {} communicators: those from {} on are shown as one",
                                numbers.size(), kMostCommunicators - 1));
  }
  Job job;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const InspectorLog& log = logs[i];
    const int rank = world.empty() ? static_cast<int>(i) : communicatorOf(log, world).rank;
    if (job.contains(rank)) {
      return Error{ExitCode::kBadInput,
                   fmt::format("is of rank {}, as {} is: import the files of one job", rank,
                               job[rank].source),
                   log.path.string()};
    }
    JobRank& here = job[rank];
    here.timeline = timelineOf(log, numbers);
    here.hostName = log.hostName;
    here.backend = "nccl";
    here.worldSize = world.empty() ? 0 : communicatorOf(log, world).ranks;
    here.source = log.path.string();
    here.tellsTheTime = true;
    for (const InspectorCommunicator& communicator : log.communicators) {
      here.facts[fmt::format("nccl.communicator.{}", numbers.at(communicator.id))] =
          fmt::format("rank {} of {}{}", communicator.rank, communicator.ranks,
                      communicator.name.empty() ? "" : ", " + communicator.name);
    }
    for (const TimedEvent& event : here.timeline.events) {
      here.firstNs = here.firstNs == 0 ? event.beginNs : std::min(here.firstNs, event.beginNs);
      here.lastNs = std::max(here.lastNs, event.endNs);
    }
  }
  return job;
}

}  // namespace lockstep::imports
