#include "engine/train/DdpLog.h"

#include <array>
#include <cstdlib>

#include "engine/trace/Messages.h"

namespace lockstep::train {
namespace {

/// Numbers of one iteration. The start of the forward and these durations give c10d's other four
/// moments; its averages are the means of the rows.
constexpr std::array kNumbers{"forward_compute_time",       "backward_compute_time",
                              "backward_comm_time",         "backward_compute_comm_overlap_time",
                              "forward_compute_time_start", "unused_parameter_size"};
constexpr std::array kDerived{"iteration",
                              "backward_compute_time_start",
                              "backward_comm_time_start",
                              "backward_compute_time_end",
                              "backward_comm_time_end",
                              "avg_forward_compute_time",
                              "avg_backward_compute_time",
                              "avg_backward_comm_time",
                              "avg_backward_compute_comm_overlap_time"};

}  // namespace

DdpLog::DdpLog(const ddp::DistributedDataParallel& ddp, trace::Tracer& tracer)
    : ddp_(ddp), tracer_(tracer) {
  send(0, false);
}

void DdpLog::iteration(std::uint32_t step) {
  send(step, true);
}

void DdpLog::send(std::uint32_t step, bool numbers) {
  if (!tracer_.recording()) {
    return;
  }
  std::map<std::string, std::string> data = ddp_.loggingData();
  trace::DdpLoggingMessage message;
  message.step = step;
  for (const char* name : kNumbers) {
    if (auto found = data.extract(name); !found.empty() && numbers) {
      message.numbers[name] = std::strtod(found.mapped().c_str(), nullptr);
    }
  }
  for (const char* name : kDerived) {
    data.erase(name);
  }
  for (const auto& [name, value] : data) {
    if (const auto found = sent_.find(name); found == sent_.end() || found->second != value) {
      message.facts[name] = value;
    }
  }
  sent_ = std::move(data);
  tracer_.send(trace::toJson(message));
}

}  // namespace lockstep::train
