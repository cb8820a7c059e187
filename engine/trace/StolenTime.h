#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace lockstep::trace {

/// What a hypervisor takes of this machine's cores: a thread that has a core by the kernel's word
/// may still stand still (/proc/stat, "steal"). Any thread.
class StolenTime {
 public:
  /// The kernel counts in hundredths of a second: over a shorter window a single one would weigh
  /// much.
  static constexpr std::int64_t kWindowNs = 1'000'000'000;

  explicit StolenTime(std::string path = "/proc/stat");

  /// Returns what was taken of the core that lost most, 100 for all of it, over the last whole
  /// window. Nothing before the first is over, and where the kernel does not say.
  /// `nowNs`: base::monotonicNs().
  std::optional<double> percent(std::int64_t nowNs);

  /// Of the machine that this process runs on.
  static StolenTime& ofThisMachine();

 private:
  const std::string path_;
  std::mutex mutex_;
  std::int64_t since_ = 0;
  std::map<std::string, std::uint64_t> before_;  // clock ticks taken, by core
  std::optional<double> percent_;
};

}  // namespace lockstep::trace
