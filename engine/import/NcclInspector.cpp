#include "engine/import/NcclInspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/base/Try.h"
#include "engine/import/ByteSource.h"
#include "engine/import/KinetoTrace.h"

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::json;

constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::int64_t kMostRanksOfOne = 1 << 20;
constexpr std::int64_t kLatestUs = 4'102'444'800'000'000;         // the year 2100
constexpr std::int64_t kLongestUs = std::int64_t{1} << 37;        // a span has 48 bits of ns
constexpr std::int64_t kMostBytes = (std::int64_t{1} << 40) - 1;  // as packCollective

/// What is wrong with a line; thrown within this file, where a line is taken apart. Every field may
/// be missing or of another type, and would else need a test of its own.
struct Wrong {
  std::string what;
};

const json& part(const json& in, const char* key) {
  const auto found = in.find(key);
  if (found == in.end() || !found->is_object()) {
    throw Wrong{fmt::format("has no \"{}\"", key)};
  }
  return *found;
}

std::int64_t whole(const json& in, const std::string& key, std::int64_t most) {
  const auto found = in.find(key);
  if (found == in.end()) {
    throw Wrong{fmt::format("has no \"{}\"", key)};
  }
  // Some versions write a time with a fraction, which is 0.
  const double number = found->is_number() ? found->get<double>() : -1;
  if (!(number >= 0 && number <= static_cast<double>(most))) {
    throw Wrong{fmt::format("\"{}\" is no number from 0 to {}", key, most)};
  }
  return found->is_number_float() ? static_cast<std::int64_t>(number) : found->get<std::int64_t>();
}

std::string text(const json& in, const char* key) {
  const auto found = in.find(key);
  if (found == in.end() || !found->is_string() || found->get_ref<const std::string&>().empty()) {
    throw Wrong{fmt::format("\"{}\" is no text", key)};
  }
  return found->get<std::string>();
}

class LogReader {
 public:
  explicit LogReader(InspectorLog& log) : log_(log) {}

  void take(const json& line) {
    const json& metadata = part(line, "metadata");
    const std::string host = text(metadata, "hostname");
    const std::int64_t pid = whole(metadata, "pid", std::numeric_limits<std::int32_t>::max());
    if (log_.hostName.empty()) {
      log_.hostName = host;
      log_.pid = pid;
    // A file is of one process: lines of another were appended by a second job in the same folder.
    } else if (host != log_.hostName || pid != log_.pid) {
      throw Wrong{fmt::format("is of process {} on {}, and those before it of process {} on {}",
                              pid, host, log_.pid, log_.hostName)};
    }
    if (const auto found = line.find("coll_perf"); found != line.end()) {
      record(line, *found, "coll");
    } else if (const auto pairwise = line.find("p2p_perf"); pairwise != line.end()) {
      record(line, *pairwise, "p2p");
    } else {
      ++log_.others;
    }
  }

 private:
  void record(const json& line, const json& perf, const std::string& kind) {
    if (!perf.is_object()) {
      throw Wrong{fmt::format("\"{}_perf\" is no object", kind)};
    }
    const auto key = [&](const char* rest) { return kind + rest; };
    InspectorRecord record;
    record.operation = operationNamed(text(perf, kind.c_str()));
    if (record.operation == trace::Operation::kNone) {
      ++log_.others;
      return;
    }
    record.communicator = communicator(part(line, "header"));
    record.sequence = static_cast<std::uint64_t>(
        whole(perf, key("_sn"), std::numeric_limits<std::int64_t>::max() / 2));
    record.bytes = static_cast<std::uint64_t>(whole(perf, key("_msg_size_bytes"), kMostBytes));
    record.durationNs = whole(perf, key("_exec_time_us"), kLongestUs) * 1000;
    const auto source = perf.find(key("_timing_source"));
    record.byDevice = source != perf.end() && *source == "kernel_gpu";
    record.dumpNs = whole(part(line, "metadata"), "dump_timestamp_us", kLatestUs) * 1000;
    if (const auto times = perf.find("event_trace_ts"); times != perf.end()) {
      if (!times->is_object()) {
        throw Wrong{"\"event_trace_ts\" is no object"};
      }
      takeTimes(*times, record);
    }
    log_.records.push_back(record);
  }

  /// From the first channel's start to the last one's end, as the host heard of them.
  static void takeTimes(const json& times, InspectorRecord& record) {
    const auto channels = times.find("kernel_events");
    if (channels == times.end()) {
      return;
    }
    if (!channels->is_array()) {
      throw Wrong{"\"kernel_events\" is no list"};
    }
    for (const json& channel : *channels) {
      const std::int64_t begin = whole(channel, "kernel_start_ts", kLatestUs) * 1000;
      const std::int64_t end = whole(channel, "kernel_stop_ts", kLatestUs) * 1000;
      if (begin > 0 && end >= begin) {
        record.beginNs = record.beginNs == 0 ? begin : std::min(record.beginNs, begin);
        record.endNs = std::max(record.endNs, end);
      }
    }
  }

  std::uint32_t communicator(const json& header) {
    InspectorCommunicator told;
    told.id = text(header, "id");
    told.ranks = static_cast<int>(whole(header, "n_ranks", kMostRanksOfOne));
    told.rank = static_cast<int>(whole(header, "rank", kMostRanksOfOne));
    if (told.rank >= told.ranks) {
      throw Wrong{fmt::format("rank {} of {} is none", told.rank, told.ranks)};
    }
    if (const auto name = header.find("comm_name"); name != header.end() && name->is_string()) {
      told.name = name->get<std::string>();
    }
    const auto known =
        std::find_if(log_.communicators.begin(), log_.communicators.end(),
                     [&](const InspectorCommunicator& other) { return other.id == told.id; });
    if (known == log_.communicators.end()) {
      log_.communicators.push_back(std::move(told));
      return static_cast<std::uint32_t>(log_.communicators.size() - 1);
    }
    if (known->rank != told.rank || known->ranks != told.ranks) {
      throw Wrong{
          fmt::format("the process is rank {} of {} in communicator {}, and was rank {} of "
                      "{}: one with several GPUs is not read",
                      told.rank, told.ranks, told.id, known->rank, known->ranks)};
    }
    return static_cast<std::uint32_t>(known - log_.communicators.begin());
  }

  InspectorLog& log_;
};

}  // namespace

base::Result<InspectorLog> readInspectorLog(const std::filesystem::path& path) {
  auto source = LOCKSTEP_TRY(ByteSource::open(path));
  InspectorLog log;
  log.path = path;
  LogReader reader(log);
  Bytes bytes(*source);
  std::string line;
  std::size_t number = 0;
  std::optional<std::string> wrong;
  bool hasEnd = false;  // the line
  const auto take = [&] {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      return;
    }
    const json parsed = json::parse(line, nullptr, false);
    // Only the last line may be broken, and only where some were read: a file of one broken line is
    // no log.
    if (parsed.is_discarded() && !hasEnd && !log.records.empty()) {
      log.isCutOff = true;
    } else if (!parsed.is_object()) {
      wrong = "is no JSON object";
    } else {
      try {
        reader.take(parsed);
      } catch (const Wrong& error) {
        wrong = error.what;
      }
    }
  };
  for (auto at = bytes.begin(); !(at == Bytes::end()) && !wrong; ++at) {
    hasEnd = *at == '\n';
    if (hasEnd) {
      take();
      line.clear();
    } else if (line.size() == kLongestLine) {
      ++number;
      wrong = fmt::format("is longer than {} bytes", kLongestLine);
    } else {
      line += *at;
    }
  }
  LOCKSTEP_TRY(source->status());
  if (!wrong && !line.empty()) {
    take();
  }
  if (wrong) {
    return Error{ExitCode::kBadInput, fmt::format("line {} {}", number, *wrong), path.string()};
  }
  if (log.records.empty()) {
    return Error{ExitCode::kBadInput, "holds no collective of an NCCL Inspector", path.string()};
  }
  return log;
}

}  // namespace lockstep::imports
