#include "engine/train/DdpLog.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "engine/trace/Messages.h"

namespace lockstep::train {
namespace {

/// Fields that are no facts: numbers of an iteration, and what follows from their rows. The start
/// of the forward and the durations give c10d's other four moments; its averages are the means.
constexpr std::array kNumbers{"iteration",
                              "unused_parameter_size",
                              "forward_compute_time",
                              "backward_compute_time",
                              "backward_comm_time",
                              "backward_compute_comm_overlap_time",
                              "forward_compute_time_start",
                              "backward_compute_time_start",
                              "backward_comm_time_start",
                              "backward_compute_time_end",
                              "backward_comm_time_end",
                              "avg_forward_compute_time",
                              "avg_backward_compute_time",
                              "avg_backward_comm_time",
                              "avg_backward_compute_comm_overlap_time"};

}  // namespace

DdpLog::DdpLog(const ddp::DistributedDataParallel& ddp, trace::Tracer& tracer,
               const std::map<std::string, double>& liveBeginnings)
    : ddp_(ddp), tracer_(tracer) {
  if (tracer_.recording()) {
    std::map<std::string, std::string> facts = changedFacts();
    for (const auto& [key, value] : liveBeginnings) {
      facts[key] = fmt::format("{}", value);
    }
    tracer_.send(trace::toJson(trace::DdpLoggingMessage{0, std::move(facts), {}}));
  }
}

void DdpLog::iteration(std::uint32_t step, const std::map<std::string, double>& more) {
  if (!tracer_.recording()) {
    return;
  }
  ddp::Reducer::State state = ddp_.reducerState();
  const auto durations = state.times.last();
  std::uint64_t unusedBytes = 0;
  for (const std::uint32_t index : state.unused) {
    unusedBytes += ddp_.parameters()[index].tensor.nbytes();
  }
  trace::DdpLoggingMessage message;
  message.step = step;
  message.numbers = {{"forward_compute_time", static_cast<double>(durations.forward)},
                     {"backward_compute_time", static_cast<double>(durations.backward)},
                     {"backward_comm_time", static_cast<double>(durations.communication)},
                     {"backward_compute_comm_overlap_time", static_cast<double>(durations.overlap)},
                     {"forward_compute_time_start", static_cast<double>(state.times.forwardStart)},
                     {"unused_parameter_size", static_cast<double>(unusedBytes)}};
  message.numbers.insert(more.begin(), more.end());
  Changing now{ddp_.hasRebuiltBuckets(), ddp_.canSetStaticGraph(), std::move(state.unused),
               std::move(state.readyOrder)};
  // loggingData() writes some fifty fields as text; what they can change with is compared first.
  if (last_ != now) {
    message.facts = changedFacts();
    last_ = std::move(now);
  }
  tracer_.send(trace::toJson(message));
}

std::map<std::string, std::string> DdpLog::changedFacts() {
  std::map<std::string, std::string> data = ddp_.loggingData();
  for (const char* name : kNumbers) {
    // They have rows of their own, one an iteration.
    data.erase(name);
  }
  std::map<std::string, std::string> changed;
  for (const auto& [name, value] : data) {
    if (const auto found = sent_.find(name); found == sent_.end() || found->second != value) {
      changed[name] = value;
    }
  }
  sent_ = std::move(data);
  return changed;
}

}  // namespace lockstep::train
