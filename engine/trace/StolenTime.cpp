#include "engine/trace/StolenTime.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace lockstep::trace {
namespace {

/// The clock ticks that were taken of each core: "cpu1 user nice system idle iowait irq softirq
/// steal ...". The first line is of all cores together, and they end where other counters begin.
std::map<std::string, std::uint64_t> stolenTicks(const std::string& path) {
  std::map<std::string, std::uint64_t> cores;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line) && line.starts_with("cpu")) {
    std::istringstream fields(line);
    std::string core;
    std::uint64_t ticks = 0;
    fields >> core;
    for (int field = 0; field < 8; ++field) {
      fields >> ticks;
    }
    if (core != "cpu" && fields) {
      cores[core] = ticks;
    }
  }
  return cores;
}

}  // namespace

StolenTime::StolenTime(std::string path) : path_(std::move(path)) {}

std::optional<double> StolenTime::percent(std::int64_t nowNs) {
  const std::lock_guard lock(mutex_);
  if (since_ != 0 && nowNs - since_ < kWindowNs) {
    return percent_;
  }
  auto cores = stolenTicks(path_);
  if (since_ != 0 && !cores.empty()) {
    std::uint64_t most = 0;
    for (const auto& [core, ticks] : cores) {
      const auto before = before_.find(core);
      // A core may have been switched off and on again meanwhile, and count from 0.
      most = std::max(
          most, before == before_.end() || before->second > ticks ? 0 : ticks - before->second);
    }
    const double seconds = static_cast<double>(nowNs - since_) / 1e9;
    percent_ = std::min(100.0, 100.0 * static_cast<double>(most) /
                                   static_cast<double>(sysconf(_SC_CLK_TCK)) / seconds);
  }
  since_ = nowNs;
  before_ = std::move(cores);
  return percent_;
}

StolenTime& StolenTime::ofThisMachine() {
  static StolenTime stolen;
  return stolen;
}

}  // namespace lockstep::trace
