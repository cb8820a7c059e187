#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "engine/analysis/Compare.h"
#include "engine/base/NumberText.h"
#include "engine/experiment/Parse.h"
#include "engine/experiment/Schema.h"
#include "engine/experiment/WrittenKeys.h"

namespace lockstep::analysis {
namespace {

/// Where a key stands among the others: where the schema has it, else at the end of its table.
std::size_t placeOf(const std::string& key) {
  const auto& fields = experiment::schema();
  const std::string table = key.substr(0, key.find_first_of(".[")) + ".";
  std::size_t place = fields.size();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].key == key) {
      return i;
    }
    place = fields[i].key.compare(0, table.size(), table) == 0 ? i : place;
  }
  return place;
}

/// What the first rank tells; empty: it does not.
std::string told(const std::vector<trace::RankInfo>& ranks, const std::string& key) {
  if (ranks.empty()) {
    return {};
  }
  const auto at = ranks.front().environment.find(key);
  return at == ranks.front().environment.end() ? std::string() : at->second;
}

// A job of PyTorch has no experiment, but tells some of the same settings in its environment
// (ddp_logging_data). `known` are the keys that it does tell: the experiment that the values pass
// through has a default for every other one, which must not be taken for a setting of the job.
Settings settingsOfJob(const trace::RunInfo& info, const std::vector<trace::RankInfo>& ranks) {
  // Facts of the job go through an experiment, so that they are written as an experiment's values.
  experiment::Experiment stand;
  std::set<std::string> known{"processes.world_size"};
  stand.processes.worldSize = info.worldSize;
  const auto flag = [&](const std::string& name, bool& value) {
    if (const std::string text = told(ranks, trace::kDdpLoggingPrefix + name); !text.empty()) {
      value = text == "true";
      known.insert("ddp." + name);
    }
  };
  flag("find_unused_parameters", stand.ddp.findUnusedParameters);
  flag("static_graph", stand.ddp.staticGraph);
  flag("gradient_as_bucket_view", stand.ddp.gradientAsBucketView);
  flag("broadcast_buffers", stand.ddp.broadcastBuffers);
  const std::string cap = told(ranks, trace::kDdpLoggingPrefix + "bucket_cap_bytes");
  std::int64_t bytes = 0;
  std::from_chars(cap.data(), cap.data() + cap.size(), bytes);
  if (bytes > 0) {
    stand.ddp.bucketCapMb = static_cast<double>(bytes) / base::kMiB;
    known.insert("ddp.bucket_cap_mb");
  }
  if (const std::string backend = told(ranks, "backend"); !backend.empty()) {
    stand.processes.backend = backend;
    known.insert("processes.backend");
  }
  Settings settings;
  settings.observed = true;
  settings.coreWaits = told(ranks, "core_waits") == "schedstat";
  settings.keys = experiment::writtenKeys(experiment::toToml(stand));
  std::erase_if(settings.keys, [&](const auto& entry) { return !known.contains(entry.first); });
  // Quoted as the values of TOML beside it are; it is shown, never parsed.
  settings.keys["command"] = fmt::format("\"{}\"", info.command);
  if (const std::string torch = told(ranks, "torch"); !torch.empty()) {
    settings.keys["torch"] = fmt::format("\"{}\"", torch);
  }
  return settings;
}

/// Says whether runs differ in a key; `values` are theirs.
bool differ(const std::vector<std::optional<std::string>>& values,
            const std::vector<Settings>& runs) {
  bool ofExperiment = false;  // an experiment without a key that only jobs have lacks nothing
  for (std::size_t run = 0; run < runs.size(); ++run) {
    ofExperiment = ofExperiment || (!runs[run].observed && values[run].has_value());
  }
  std::set<std::optional<std::string>> known;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    // An experiment that lacks a key has none of what the key sets up: that is a value of its own.
    // A job that does not tell it may have any.
    if (values[run].has_value() || (!runs[run].observed && ofExperiment)) {
      known.insert(values[run]);
    }
  }
  return known.size() > 1;
}

}  // namespace

Settings settingsOf(const std::string& experimentToml) {
  Settings settings;
  settings.keys = experiment::writtenKeys(experimentToml);
  // What an experiment is called and which point of a sweep it is: repeats may differ in it.
  for (const char* key : {"name", "shows", "sweep.group", "sweep.run"}) {
    settings.keys.erase(key);
  }
  return settings;
}

Settings settingsOf(const trace::RunInfo& info, const std::vector<trace::RankInfo>& ranks) {
  if (info.kind != trace::RunKind::kExperiment) {
    return settingsOfJob(info, ranks);
  }
  Settings settings = settingsOf(info.experimentToml);
  settings.coreWaits = told(ranks, "core_waits") != "unknown";
  return settings;
}

std::vector<DifferingKey> differingKeys(const std::vector<Settings>& runs) {
  std::set<std::pair<std::size_t, std::string>> order;
  for (const Settings& run : runs) {
    for (const auto& [key, value] : run.keys) {
      order.emplace(placeOf(key), key);
    }
  }
  std::vector<DifferingKey> differing;
  for (const auto& [place, key] : order) {
    DifferingKey row;
    row.key = key;
    for (const Settings& run : runs) {
      const auto at = run.keys.find(key);
      row.values.push_back(at == run.keys.end() ? std::nullopt : std::optional(at->second));
    }
    if (!differ(row.values, runs)) {
      continue;
    }
    if (const experiment::Field* field = experiment::findField(key)) {
      row.label = field->label;
      row.unit = field->unit;
    }
    differing.push_back(std::move(row));
  }
  return differing;
}

}  // namespace lockstep::analysis
