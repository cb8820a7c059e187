#pragma once

#include <cstdint>

namespace lockstep::process_group {

/// How much longer than its cost says an operation takes. [any-thread]
class LinkJitter {
 public:
  /// Up to `jitterUs`, drawn evenly.
  LinkJitter(double jitterUs, std::uint64_t seed) : jitterUs_(jitterUs), seed_(seed) {}

  /// Of operation `number`, the same on all ranks that ask with the same `stream`.
  [[nodiscard]] std::int64_t ns(std::uint64_t stream, std::uint64_t number) const;

 private:
  double jitterUs_;
  std::uint64_t seed_;
};

}  // namespace lockstep::process_group
