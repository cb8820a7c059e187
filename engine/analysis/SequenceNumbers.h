#pragma once

#include <cstdint>

namespace lockstep::analysis {

/// Continues the numbers of a group beyond their 24 bits. One for all ranks, in the order of
/// time: a rank whose records around the wrap were dropped must not be taken for one that has
/// not wrapped. Records of one moment come in any order, so a number a little below the one
/// before it is an older one; any other has moved on.
class SequenceNumbers {
 public:
  std::uint64_t operator()(std::uint32_t sequence) {
    if (!seen_) {
      seen_ = true;
      last_ = sequence;
      return last_;
    }
    const std::uint64_t ahead = (sequence - last_) & (kWrap - 1);
    const std::uint64_t behind = kWrap - ahead;
    if (ahead != 0 && behind <= kOutOfOrder && behind <= last_) {
      return last_ - behind;
    }
    last_ += ahead;
    return last_;
  }

 private:
  static constexpr std::uint64_t kWrap = 1ull << 24;
  static constexpr std::uint64_t kOutOfOrder = 1ull << 20;
  bool seen_ = false;
  std::uint64_t last_ = 0;
};

}  // namespace lockstep::analysis
