#include "engine/import/FlightRecorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/Try.h"
#include "engine/import/ByteSource.h"
#include "engine/import/Pickle.h"

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::json;

constexpr std::size_t kLargest = 512u << 20;

std::string textAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t numberAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

/// The first of the tensors: [[2, 3], ...] has 6 elements.
std::uint64_t elementsOf(const json& object, const char* key) {
  const auto sizes = object.find(key);
  if (sizes == object.end() || !sizes->is_array()) {
    return 0;
  }
  std::uint64_t all = 0;
  for (const json& shape : *sizes) {
    std::uint64_t elements = shape.is_array() ? 1 : 0;
    for (const json& dimension : shape) {
      elements *=
          dimension.is_number_unsigned() || dimension.is_number_integer()
              ? static_cast<std::uint64_t>(std::max<std::int64_t>(dimension.get<std::int64_t>(), 0))
              : 0;
    }
    all += elements;
  }
  return all;
}

std::string firstText(const json& object, const char* key) {
  const auto list = object.find(key);
  return list != object.end() && list->is_array() && !list->empty() && list->front().is_string()
             ? list->front().get<std::string>()
             : "";
}

/// "[0, 1]", as c10d writes them, or a list.
std::vector<int> ranksOf(const json& value) {
  json list = value;
  if (value.is_string()) {
    list = json::parse(value.get<std::string>(), nullptr, false);
  }
  std::vector<int> ranks;
  if (list.is_array()) {
    for (const json& rank : list) {
      if (rank.is_number_integer()) {
        ranks.push_back(rank.get<int>());
      }
    }
  }
  return ranks;
}

base::Result<FlightEntry> entryOf(const json& object, std::size_t number,
                                  const std::string& where) {
  const auto wrong = [&](const std::string& why) {
    return Error{ExitCode::kBadInput, fmt::format("entry {}: {}", number, why), where};
  };
  if (!object.is_object()) {
    return wrong("is no record");
  }
  FlightEntry entry;
  const auto group = object.find("process_group");
  if (group == object.end() || !group->is_array() || group->empty() ||
      !group->front().is_string()) {
    return wrong("has no process_group");
  }
  entry.group = group->front().get<std::string>();
  // Older dumps have "seq_id" in its place.
  const char* numbered = object.contains("collective_seq_id") ? "collective_seq_id" : "seq_id";
  if (!object.contains(numbered) || numberAt(object, numbered) < 0 ||
      !object.at(numbered).is_number_integer()) {
    return wrong("has no collective_seq_id");
  }
  entry.sequence = static_cast<std::uint64_t>(numberAt(object, numbered));
  // "nccl:all_reduce", "nccl:send 0->1": what follows the colon, up to a blank.
  const std::string name = textAt(object, "profiling_name");
  const auto colon = name.find(':');
  const std::string plain = name.substr(colon == std::string::npos ? 0 : colon + 1);
  entry.facts.operation = operationNamed(plain.substr(0, plain.find(' ')));
  entry.facts.elements = elementsOf(object, "input_sizes");
  entry.facts.dtype = dtypeNamed(firstText(object, "input_dtypes"));
  entry.facts.sequence = entry.sequence;
  entry.createdNs = numberAt(object, "time_created_ns");
  entry.startedNs = numberAt(object, "time_discovered_started_ns");
  entry.completedNs = numberAt(object, "time_discovered_completed_ns");
  // Retired: the watchdog is through with it, whatever its state says.
  entry.done = textAt(object, "state") == "completed" ||
               (object.contains("retired") && object.at("retired") == true);
  if (entry.createdNs <= 0) {
    return wrong("has no time_created_ns");
  }
  return entry;
}

base::Result<json> contentOf(const std::filesystem::path& path) {
  auto bytes = LOCKSTEP_TRY(readWhole(path, kLargest));
  constexpr char kPickle = static_cast<char>(0x80);
  if (!bytes.empty() && bytes.front() == kPickle) {
    return readPickle(bytes, path.string());
  }
  json content = json::parse(bytes, nullptr, false);
  if (content.is_discarded()) {
    return Error{ExitCode::kBadInput, "is cut off or damaged: it is no JSON", path.string()};
  }
  return content;
}

}  // namespace

base::Result<FlightDump> readFlightDump(const std::filesystem::path& path) {
  const json content = LOCKSTEP_TRY(contentOf(path));
  const auto entries = content.is_object() ? content.find("entries") : content.end();
  if (!content.is_object() || entries == content.end() || !entries->is_array()) {
    return Error{ExitCode::kBadInput,
                 "holds no list of entries: it is no dump of torch.distributed's Flight Recorder",
                 path.string()};
  }
  FlightDump dump;
  dump.path = path;
  if (const auto groups = content.find("pg_config");
      groups != content.end() && groups->is_object()) {
    for (const auto& [key, group] : groups->items()) {
      if (group.is_object()) {
        FlightGroup& made = dump.groups[key];
        made.description = textAt(group, "desc");
        made.ranks = ranksOf(group.contains("ranks") ? group.at("ranks") : json());
      }
    }
  }
  for (std::size_t i = 0; i < entries->size(); ++i) {
    auto entry = LOCKSTEP_TRY(entryOf((*entries)[i], i, path.string()));
    const bool pairwise = (*entries)[i].contains("is_p2p") && (*entries)[i].at("is_p2p") == true;
    if (!pairwise) {
      const json& group = (*entries)[i].at("process_group");
      entry.facts.group = entry.group;
      entry.facts.isDefault = group.size() > 1 && group[1] == "default_pg";
      if (group.size() > 1 && group[1].is_string()) {
        dump.groups[entry.group].description = group[1].get<std::string>();
      }
      dump.entries.push_back(std::move(entry));
    }
  }
  return dump;
}

RankTimeline timelineOf(const FlightDump& dump) {
  RankTimeline made;
  made.lanes = {"step", "ddp", "communication"};
  std::size_t open = 0;
  for (const FlightEntry& entry : dump.entries) {
    RankCall& call = made.calls.emplace_back();
    call.facts = entry.facts;
    call.askedNs = entry.createdNs;
    call.flew = entry.startedNs > 0 && entry.completedNs >= entry.startedNs;
    call.beginNs = entry.startedNs;
    call.endNs = entry.completedNs;
    // Lane 2 is "communication". What is only known to have been asked for is an instant of the
    // thread that asked.
    call.lane = call.flew ? 2 : kDdpLane;
    open += call.flew ? 0 : 1;
  }
  made.notes.insert("a Flight Recorder knows collectives alone: it is shown without iterations");
  if (open > 0) {
    made.notes.insert(fmt::format(
        "of {} of its {} collectives the Flight Recorder says when they were asked for, and not "
        "when they were carried out",
        open, made.calls.size()));
  }
  return made;
}

}  // namespace lockstep::imports
