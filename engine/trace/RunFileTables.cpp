#include "engine/trace/RunFileTables.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "engine/trace/RunFileSchema.h"
#include "engine/trace/UserPhases.h"

namespace lockstep::trace {

namespace {
constexpr std::array kStates = {RunState::kStarting,    RunState::kRunning, RunState::kFinished,
                                RunState::kFailed,      RunState::kStopped, RunState::kDiverged,
                                RunState::kRecorderDied};
}

std::string_view name(RunKind kind) {
  switch (kind) {
    case RunKind::kObserved:
      return "observed";
    case RunKind::kImported:
      return "imported";
    case RunKind::kSimulated:
      return "simulated";
    case RunKind::kExperiment:
      break;
  }
  return "experiment";
}

std::string_view name(RunState state) {
  switch (state) {
    case RunState::kStarting:
      return "starting";
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kFailed:
      return "failed";
    case RunState::kStopped:
      return "stopped";
    case RunState::kDiverged:
      return "diverged";
    case RunState::kRecorderDied:
      return "recorder died";
  }
  return "unknown";
}

bool isLive(RunState state) {
  return state == RunState::kStarting || state == RunState::kRunning;
}

bool hasEnded(RunState state) {
  return !isLive(state) && state != RunState::kRecorderDied;
}

namespace tables {
namespace {

using sqlite::Database;
using sqlite::Statement;
using Environment = std::map<std::string, std::string>;

RunState stateNamed(const std::string& text) {
  for (const RunState state : kStates) {
    if (text == name(state)) {
      return state;
    }
  }
  // A state of a later minor: the run is not live, and more is not known.
  return RunState::kRecorderDied;
}

/// Calls `take` with each text and number of a RunInfo and its key in `meta`.
template <typename Info, typename Take>
void eachField(Info& info, Take take) {
  take("run_id", info.runId);
  take("name", info.name);
  take("command", info.command);
  take("experiment_toml", info.experimentToml);
  take("started_at", info.startedAt);
  take("finished_at", info.finishedAt);
  take("failure", info.failure);
  take("exit_code", info.exitCode);
  take("supervisor_pid", info.supervisorPid);
  take("supervisor_start", info.supervisorStart);
  take("control_socket", info.controlSocket);
  take("host_name", info.hostName);
  take("world_size", info.worldSize);
  take("planned_steps", info.plannedSteps);
  take("drifting_hook", info.driftingHook);
}

void writeEnvironment(Database& database, int rank, const Environment& values) {
  Statement(database, "DELETE FROM environment WHERE rank = ?").runWith(rank);
  Statement insert(database, "INSERT INTO environment VALUES(?, ?, ?)");
  for (const auto& [key, value] : values) {
    insert.runWith(rank, std::string_view(key), std::string_view(value));
  }
}

std::map<int, Environment> readEnvironments(Database& database) {
  std::map<int, Environment> environments;
  Statement select(database, "SELECT rank, key, value FROM environment");
  while (select.row()) {
    environments[static_cast<int>(select.integer(0))][select.text(1)] = select.text(2);
  }
  return environments;
}

}  // namespace

void writeInfo(Database& database, const RunInfo& info) {
  Statement insert(database, "INSERT OR REPLACE INTO meta VALUES(?, ?)");
  const auto put = [&](std::string_view key, const auto& value) {
    if constexpr (std::is_convertible_v<decltype(value), std::string_view>) {
      insert.runWith(key, std::string_view(value));
    } else {
      insert.runWith(key, value);
    }
  };
  eachField(info, put);
  put("kind", name(info.kind));
  put("state", name(info.state));
  if (info.divergence) {
    put("divergence", info.divergence->text);
    put("divergence_step", info.divergence->step);
    put("divergence_rank", info.divergence->rank);
    put("divergence_parameter", info.divergence->parameter);
  }
  writeEnvironment(database, schema::kWholeRun, info.environment);
}

RunInfo readInfo(Database& database) {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::int64_t> integers;
  Statement select(database, "SELECT key, value FROM meta");
  while (select.row()) {
    const std::string key = select.text(0);
    // Both ways, as `meta` has texts and numbers under one column: the key says which is meant.
    integers[key] = select.integer(1);
    texts[key] = select.text(1);
  }
  RunInfo info;
  eachField(info, [&](const char* key, auto& field) {
    if constexpr (std::is_same_v<decltype(field), std::string&>) {
      field = texts[key];
    } else {
      field = static_cast<std::remove_reference_t<decltype(field)>>(integers[key]);
    }
  });
  for (const RunKind kind : {RunKind::kObserved, RunKind::kImported, RunKind::kSimulated}) {
    // What names none of them is an experiment's run.
    info.kind = texts["kind"] == name(kind) ? kind : info.kind;
  }
  info.state = stateNamed(texts["state"]);
  if (texts.contains("divergence")) {
    info.divergence = RunDivergence{static_cast<std::uint32_t>(integers["divergence_step"]),
                                    static_cast<int>(integers["divergence_rank"]),
                                    texts["divergence_parameter"], texts["divergence"]};
  }
  info.environment = readEnvironments(database)[schema::kWholeRun];
  return info;
}

void writeRank(Database& database, const RankInfo& rank) {
  Statement insert(database, "INSERT OR REPLACE INTO ranks VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
  insert.runWith(rank.rank, rank.pid, std::string_view(rank.state), rank.exitCode, rank.signal,
                 std::string_view(rank.lastWords), std::string_view(rank.stderrTail),
                 std::string_view(rank.parameterHash), rank.wireBytes, rank.wireMessages,
                 rank.eventsDropped, rank.host);
  writeEnvironment(database, rank.rank, rank.environment);
}

std::vector<RankInfo> readRanks(Database& database) {
  auto environments = readEnvironments(database);
  std::vector<RankInfo> ranks;
  // Before 1.3 there was one host.
  const std::string host = schema::hasHosts(database) ? "host" : "0";
  const std::string columns =
      "rank, pid, state, exit_code, signal, last_words, stderr_tail, parameter_hash, wire_bytes, "
      "wire_messages, events_dropped, " +
      host;
  Statement select(database, ("SELECT " + columns + " FROM ranks ORDER BY rank").c_str());
  while (select.row()) {
    RankInfo& rank = ranks.emplace_back();
    rank.rank = static_cast<int>(select.integer(0));
    rank.pid = select.integer(1);
    rank.state = select.text(2);
    if (!select.isNull(3)) {
      rank.exitCode = static_cast<int>(select.integer(3));
    }
    rank.signal = static_cast<int>(select.integer(4));
    rank.lastWords = select.text(5);
    rank.stderrTail = select.text(6);
    rank.parameterHash = select.text(7);
    rank.wireBytes = static_cast<std::uint64_t>(select.integer(8));
    rank.wireMessages = static_cast<std::uint64_t>(select.integer(9));
    rank.eventsDropped = static_cast<std::uint64_t>(select.integer(10));
    rank.host = static_cast<int>(select.integer(11));
    rank.environment = std::move(environments[rank.rank]);
    // So that names are known before the first span that needs one is shown.
    learnUserPhases(rank.environment);
  }
  return ranks;
}

void writeParameters(Database& database,
                     const std::vector<ParametersMessage::Parameter>& parameters) {
  database.execute("DELETE FROM parameters");
  Statement insert(database, "INSERT INTO parameters VALUES(?, ?, ?, ?, ?, ?)");
  std::int64_t index = 0;
  for (const auto& parameter : parameters) {
    const std::string shape = nlohmann::json(parameter.shape).dump();
    insert.runWith(index++, std::string_view(parameter.name), std::string_view(shape),
                   std::string_view(parameter.dtype), parameter.numel, parameter.bytes);
  }
}

std::vector<ParametersMessage::Parameter> readParameters(Database& database) {
  std::vector<ParametersMessage::Parameter> parameters;
  Statement select(database,
                   "SELECT name, shape, dtype, numel, bytes, parameter FROM parameters "
                   "ORDER BY parameter");
  while (select.row()) {
    // Numbered from 0 without a hole: everything else names parameters by these numbers.
    if (select.integer(5) != static_cast<std::int64_t>(parameters.size())) {
      database.note(SQLITE_CORRUPT);
      break;
    }
    auto& parameter = parameters.emplace_back();
    parameter.name = select.text(0);
    const auto shape = nlohmann::json::parse(select.text(1), nullptr, false);
    if (!shape.is_array()) {
      database.note(SQLITE_CORRUPT);
      break;
    }
    for (const auto& extent : shape) {
      parameter.shape.push_back(extent.is_number_integer() ? extent.get<std::int64_t>() : 0);
    }
    parameter.dtype = select.text(2);
    parameter.numel = select.integer(3);
    parameter.bytes = select.integer(4);
  }
  return parameters;
}

std::int64_t parameterLimit(Database& database, const char* table) {
  const std::string sql = std::string(
                              "SELECT coalesce(nullif((SELECT count(*) FROM parameters), 0), "
                              "(SELECT count(*) FROM ") +
                          table + "))";
  Statement select(database, sql.c_str());
  return select.row() ? select.integer(0) : 0;
}

void writeLayout(Database& database, const BucketsMessage& layout) {
  // Ranks that were started again may have made another layout under the same number.
  Statement(database, "DELETE FROM buckets WHERE layout = ?").runWith(layout.layout);
  Statement(database, "DELETE FROM bucket_parameters WHERE layout = ?").runWith(layout.layout);
  Statement(database, "INSERT OR REPLACE INTO layouts VALUES(?, ?, ?)")
      .runWith(layout.layout, layout.step, std::string_view(layout.reason));
  Statement insertBucket(database, "INSERT INTO buckets VALUES(?, ?, ?, ?, ?)");
  Statement insertParameter(database, "INSERT INTO bucket_parameters VALUES(?, ?, ?, ?, ?)");
  for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
    const auto& bucket = layout.buckets[b];
    insertBucket.runWith(layout.layout, static_cast<std::int64_t>(b), bucket.bytes,
                         bucket.limitBytes, std::string_view(bucket.dtype));
    for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
      const std::uint64_t offset = i < bucket.offsets.size() ? bucket.offsets[i] : 0;
      insertParameter.runWith(layout.layout, static_cast<std::int64_t>(b),
                              static_cast<std::int64_t>(i), bucket.parameters[i], offset);
    }
  }
}

std::vector<BucketsMessage> readLayouts(Database& database) {
  std::vector<BucketsMessage> layouts;
  const std::int64_t limit = parameterLimit(database, "bucket_parameters");
  Statement select(database, "SELECT layout, step, reason FROM layouts ORDER BY layout");
  Statement selectBuckets(
      database, "SELECT bytes, limit_bytes, dtype FROM buckets WHERE layout = ? ORDER BY bucket");
  Statement selectParameters(database,
                             "SELECT bucket, parameter, byte_offset FROM bucket_parameters "
                             "WHERE layout = ? ORDER BY bucket, position");
  while (select.row()) {
    BucketsMessage& layout = layouts.emplace_back();
    layout.layout = static_cast<std::uint32_t>(select.integer(0));
    layout.step = static_cast<std::uint32_t>(select.integer(1));
    layout.reason = select.text(2);
    selectBuckets.bind(1, layout.layout);
    while (selectBuckets.row()) {
      auto& bucket = layout.buckets.emplace_back();
      bucket.bytes = static_cast<std::uint64_t>(selectBuckets.integer(0));
      bucket.limitBytes = static_cast<std::uint64_t>(selectBuckets.integer(1));
      bucket.dtype = selectBuckets.text(2);
    }
    selectParameters.bind(1, layout.layout);
    while (selectParameters.row()) {
      const auto b = static_cast<std::uint64_t>(selectParameters.integer(0));
      const std::int64_t parameter = selectParameters.integer(1);
      if (b >= layout.buckets.size() || parameter < 0 || parameter >= limit) {
        database.note(SQLITE_CORRUPT);
        break;
      }
      layout.buckets[b].parameters.push_back(static_cast<std::uint32_t>(parameter));
      layout.buckets[b].offsets.push_back(static_cast<std::uint64_t>(selectParameters.integer(2)));
    }
  }
  return layouts;
}

std::vector<TrackInfo> readTracks(Database& database) {
  std::vector<TrackInfo> tracks;
  Statement select(database, "SELECT id, rank, name FROM tracks ORDER BY id");
  while (select.row()) {
    tracks.push_back(TrackInfo{static_cast<std::int32_t>(select.integer(0)),
                               static_cast<int>(select.integer(1)), select.text(2)});
  }
  return tracks;
}

}  // namespace tables
}  // namespace lockstep::trace
