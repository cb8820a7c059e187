#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "engine/run/KindFacts.h"

namespace lockstep::run {

/// What spans of one call have in common, whichever rank recorded them: a collective of a group
/// with its marks and its link, or the check of one, which counts for itself.
struct Call {
  std::uint8_t group = 0;
  bool check = false;
  std::uint64_t number = 0;
  auto operator<=>(const Call&) const = default;
};

/// Returns the call that a span is part of, its number with 24 bits as the event has it; none of
/// spans that name none.
std::optional<Call> callOf(trace::EventKind kind, std::uint16_t detail, std::uint64_t value);

/// Whether a call has one number on all its ranks: that of a send or receive is not that of the
/// other side.
bool isOfAll(std::uint16_t detail);

/// Continues the numbers of a group beyond their 24 bits. One for all ranks, in the order of
/// time: a rank whose records around the wrap were dropped must not be taken for one that has
/// not wrapped. Records of one moment come in any order, so a number a little below the one
/// before it is an older one; any other has moved on.
class SequenceNumbers {
 public:
  static constexpr std::uint64_t kWrap = 1ull << 24;
  /// Numbers that lie within so many of each other are what they are.
  static constexpr std::uint64_t kOutOfOrder = 1ull << 20;

  std::uint64_t operator()(std::uint64_t sequence) {
    const std::uint64_t ahead = (sequence - last_) & (kWrap - 1);
    const std::uint64_t behind = kWrap - ahead;
    if (seen_ && ahead != 0 && behind <= kOutOfOrder && behind <= last_) {
      return last_ - behind;
    }
    last_ = seen_ ? last_ + ahead : sequence;
    seen_ = true;
    return last_;
  }
  /// Goes on from there.
  void set(std::uint64_t sequence) { last_ = sequence; }

 private:
  bool seen_ = false;
  std::uint64_t last_ = 0;
};

/// The same of all groups.
class CallNumbers {
 public:
  Call operator()(Call call) {
    call.number = numbers_[{call.group, call.check}](call.number);
    return call;
  }

 private:
  std::map<std::pair<std::uint8_t, bool>, SequenceNumbers> numbers_;
};

}  // namespace lockstep::run
