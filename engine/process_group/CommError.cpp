#include "engine/process_group/CommError.h"

#include <fmt/format.h>

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
    : std::runtime_error(text(where, what)), where_(std::move(where)) {}

}  // namespace lockstep::process_group
