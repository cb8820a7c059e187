#include "engine/report/DdpLogging.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace lockstep::report {
namespace {

constexpr const char* kForward = "forward_compute_time";
constexpr const char* kBackward = "backward_compute_time";
constexpr const char* kCommunication = "backward_comm_time";
constexpr const char* kOverlap = "backward_compute_comm_overlap_time";
constexpr const char* kStart = "forward_compute_time_start";
constexpr const char* kUnused = "unused_parameter_size";
constexpr std::array kDurations{kForward, kBackward, kCommunication, kOverlap};
constexpr std::array kNumbers{kForward, kBackward, kCommunication, kOverlap, kStart, kUnused};

/// Numbers that a hook counts.
constexpr std::string_view kHookPrefix = "hook.";

std::string whole(double number) {
  return std::to_string(std::llround(number));
}

double numberOf(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

// Note [Moments of an iteration]
// A run file has what cannot be worked out of an iteration: when its forward began, and four
// durations. c10d's Logger gives moments, too, which follow from them:
//
//   start                                      backward end
//     |---- forward ----|------- backward ---------|
//                                   |== overlap ===|
//                                   |------ communication ------|
//                               comm start                  comm end
//
// Overlap here ends where the backward does, as c10d defines it: from the first bucket's start to
// the backward's end, whether anything was on the wire or not. The overlap of `lockstep info` is
// what was hidden in fact, and is another number.

void DdpLogging::take(const trace::MetricRow& metric) {
  const bool ours = metric.name.starts_with(kHookPrefix) ||
                    std::any_of(kNumbers.begin(), kNumbers.end(),
                                [&](const char* name) { return metric.name == name; });
  if (!ours) {
    return;
  }
  // A sum and a count in place of the values: a run may have millions of iterations.
  Series& series = ranks_[metric.rank][metric.name];
  series.last = metric.value;
  series.sum += metric.value;
  ++series.count;
}

std::map<std::string, std::string> DdpLogging::fields(const trace::RankInfo& rank) const {
  std::map<std::string, std::string> fields;
  for (const auto& [key, value] : rank.environment) {
    if (key.starts_with(trace::kDdpLoggingPrefix)) {
      fields[key.substr(trace::kDdpLoggingPrefix.size())] = value;
    }
  }
  const auto found = ranks_.find(rank.rank);
  if (found == ranks_.end()) {
    return fields;
  }
  auto series = found->second;
  // Rows of every synchronised iteration, none left out: their count is c10d's `iteration`.
  fields["iteration"] = std::to_string(series[kForward].count);
  fields[kUnused] = whole(series[kUnused].last);
  for (const char* name : kDurations) {
    const Series& one = series[name];
    fields[name] = whole(one.last);
    fields[std::string("avg_") + name] =
        whole(one.sum / static_cast<double>(std::max<std::int64_t>(one.count, 1)));
  }
  for (const auto& [name, one] : series) {
    if (name.starts_with(kHookPrefix)) {
      // A live parameter has rows from its first change on; before, it is what it began with.
      const auto began = fields.find(name);
      const std::int64_t before =
          began == fields.end() ? 0 : std::max<std::int64_t>(series[kForward].count - one.count, 0);
      const double sum =
          one.sum + (before == 0 ? 0 : static_cast<double>(before) * numberOf(began->second));
      fields["avg_" + name] = fmt::format(
          "{:.6g}", sum / static_cast<double>(std::max<std::int64_t>(before + one.count, 1)));
      fields[name] = fmt::format("{}", one.last);
    }
  }
  const double backwardStart = series[kStart].last + series[kForward].last;
  const double backwardEnd = backwardStart + series[kBackward].last;
  const double communicationStart = backwardEnd - series[kOverlap].last;
  fields[kStart] = whole(series[kStart].last);
  fields["backward_compute_time_start"] = whole(backwardStart);
  fields["backward_compute_time_end"] = whole(backwardEnd);
  fields["backward_comm_time_start"] = whole(communicationStart);
  fields["backward_comm_time_end"] = whole(communicationStart + series[kCommunication].last);
  return fields;
}

std::map<std::string, std::string> DdpLogging::environmentOf(const trace::RankInfo& rank) {
  std::map<std::string, std::string> rest = rank.environment;
  std::erase_if(
      rest, [](const auto& entry) { return entry.first.starts_with(trace::kDdpLoggingPrefix); });
  return rest;
}

}  // namespace lockstep::report
