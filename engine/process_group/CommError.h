#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/Operation.h"

namespace lockstep::process_group {

/// What kind of thing went wrong; the family of c10d's DistError.
enum class CommErrorKind : std::uint8_t {
  kBackend = 0,   ///< the backend failed by itself, or the group is in no state for the call
  kNetwork = 1,   ///< a connection broke: the peer has probably ended
  kStore = 2,     ///< the store failed
  kTimeout = 3,   ///< this rank waited for the time limit
  kRemote = 4,    ///< another rank gave up and said why
  kMismatch = 5,  ///< the ranks do not make the same call
  kAborted = 6,   ///< somebody here ended it
};
/// "backend", "network", ...
std::string_view name(CommErrorKind kind);

/// How a group fares, as c10d's error states. The first failure decides.
enum class GroupState : std::uint8_t {
  kSuccess = 0,      ///< nothing has broken it
  kTimeout = 1,      ///< an operation here passed its time limit
  kCommError = 2,    ///< any other failure on this rank
  kRemoteError = 3,  ///< another rank gave up, for instance because of its own time limit
};
std::string_view name(GroupState state);
/// The state of a group that a failure of this kind broke.
GroupState stateAfter(CommErrorKind kind);

/// A collective that failed, was aborted or timed out. Thrown through autograd and caught
/// once, in app/rank.
class CommError : public std::runtime_error {
 public:
  struct Where {
    std::string group;  ///< "default", ...
    int rank = -1;
    trace::Operation operation = trace::Operation::kNone;
    std::uint64_t sequence = 0;
    std::uint8_t groupNumber = 0;  ///< in events
    std::uint16_t bucket = trace::kNoBucket;
    bool timedOut = false;
    int peer = -1;  ///< the rank it failed with, where that is known
    CommErrorKind kind = CommErrorKind::kBackend;
    std::vector<int> culprits = {};  ///< see culprits()
  };

  /// The text becomes "allreduce #12 of group default, rank 1, bucket 3: <what>"; parts that
  /// are not known are left out.
  CommError(Where where, const std::string& what);

  [[nodiscard]] const Where& where() const { return where_; }
  [[nodiscard]] CommErrorKind kind() const { return where_.kind; }
  /// The ranks at fault as far as this rank can tell: who made another call than most (all of them
  /// where there is no majority), who did not come, whose connection broke. None where it repeats
  /// what another rank said, or was aborted.
  [[nodiscard]] std::vector<int> culprits() const;
  /// The text without the place before it.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  Where where_;
  std::string reason_;
};

}  // namespace lockstep::process_group
