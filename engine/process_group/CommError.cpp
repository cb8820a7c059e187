#include "engine/process_group/CommError.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::process_group {
namespace {

std::string text(const CommError::Where& where, const std::string& what) {
  std::string text(trace::name(where.operation));
  if (where.operation == trace::Operation::kNone) {
    text = "process group";
  } else if (where.sequence != 0) {
    text += fmt::format(" #{}", where.sequence);
  }
  if (!where.group.empty()) {
    text += fmt::format(" of group {}", where.group);
  }
  if (where.rank >= 0) {
    text += fmt::format(", rank {}", where.rank);
  }
  if (where.bucket != trace::kNoBucket) {
    text += fmt::format(", bucket {}", where.bucket);
  }
  return text + ": " + what;
}

}  // namespace

CommError::CommError(Where where, const std::string& what)
    : std::runtime_error(text(where, what)), where_(std::move(where)), reason_(what) {}

std::vector<int> CommError::culprits() const {
  // The rank that it repeats, or the caller here, knows better.
  if (where_.kind == CommErrorKind::kRemote || where_.kind == CommErrorKind::kAborted) {
    return {};
  }
  if (!where_.culprits.empty()) {
    return where_.culprits;
  }
  if (where_.peer < 0) {
    return {};
  }
  // Of two that do not agree, none is the one that is wrong.
  return where_.kind == CommErrorKind::kMismatch
             ? std::vector{std::min(where_.rank, where_.peer), std::max(where_.rank, where_.peer)}
             : std::vector{where_.peer};
}

std::string_view name(CommErrorKind kind) {
  switch (kind) {
    case CommErrorKind::kBackend: return "backend";
    case CommErrorKind::kNetwork: return "network";
    case CommErrorKind::kStore: return "store";
    case CommErrorKind::kTimeout: return "timeout";
    case CommErrorKind::kRemote: return "remote";
    case CommErrorKind::kMismatch: return "mismatch";
    case CommErrorKind::kAborted: return "aborted";
  }
  return "unknown";
}

std::string_view name(GroupState state) {
  switch (state) {
    case GroupState::kSuccess: return "success";
    case GroupState::kTimeout: return "timeout";
    case GroupState::kCommError: return "comm_error";
    case GroupState::kRemoteError: return "remote_error";
  }
  return "unknown";
}

GroupState stateAfter(CommErrorKind kind) {
  switch (kind) {
    case CommErrorKind::kTimeout: return GroupState::kTimeout;
    case CommErrorKind::kRemote: return GroupState::kRemoteError;
    default: return GroupState::kCommError;
  }
}

}  // namespace lockstep::process_group
