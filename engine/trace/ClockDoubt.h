#pragma once

#include <cstdint>
#include <map>

#include "engine/trace/RunFile.h"

namespace lockstep::trace {

/// By how much the times of ranks may be off against each other, because their hosts' clocks are
/// only estimated (ClockOffset). A value; reading is [any-thread].
class ClockDoubt {
 public:
  /// Takes what an update says of ranks and hosts. Rows of ranks whose host has no clock are not
  /// handed out: nothing is said of them.
  void take(const RunUpdate& update);

  /// Half width of a rank's times on the recording host's axis; 0 for those on that host.
  [[nodiscard]] std::int64_t ofNs(int rank) const;

  /// A difference of two ranks' times up to this says nothing about which came first: 0 on one
  /// host, else the sum of both.
  [[nodiscard]] std::int64_t betweenNs(int a, int b) const;

  /// No two ranks' times are in doubt by more.
  [[nodiscard]] std::int64_t mostNs() const;

  /// Whether all ranks share one clock.
  [[nodiscard]] bool none() const { return hostOf_.empty(); }

  bool operator==(const ClockDoubt&) const = default;

 private:
  [[nodiscard]] int hostOf(int rank) const;

  std::map<int, int> hostOf_;  // of ranks elsewhere
  std::map<int, std::int64_t> uncertaintyNs_;
};

}  // namespace lockstep::trace
