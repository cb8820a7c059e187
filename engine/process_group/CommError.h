#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "engine/trace/Event.h"

namespace lockstep::process_group {

/// A collective that failed, was aborted or timed out. Thrown through autograd and caught
/// once, in app/rank.
class CommError : public std::runtime_error {
 public:
  struct Where {
    std::string group;  ///< "default", ...
    int rank = -1;
    trace::Operation operation = trace::Operation::kNone;
    std::uint64_t sequence = 0;
    std::uint16_t bucket = trace::kNoBucket;
    bool timedOut = false;
    int peer = -1;  ///< the rank it failed with, where that is known
  };

  /// The text becomes "allreduce #12 of group default, rank 1, bucket 3: <what>"; parts that
  /// are not known are left out.
  CommError(Where where, const std::string& what);

  [[nodiscard]] const Where& where() const { return where_; }

 private:
  Where where_;
};

}  // namespace lockstep::process_group
