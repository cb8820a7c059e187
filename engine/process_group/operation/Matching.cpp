#include "engine/process_group/operation/Matching.h"

#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include <string>

namespace lockstep::process_group {
namespace {

// "3 Float"
std::string amount(const Content& content) {
  return fmt::format("{} {}", content.elements,
                     c10::toString(static_cast<c10::ScalarType>(content.dtype)));
}

}  // namespace

Failure refusedHere(int source, const Content& offered, const Content& expected) {
  return Failure{fmt::format("rank {} sends {}, this rank expects {}", source, amount(offered),
                             amount(expected)),
                 source, CommErrorKind::kMismatch};
}

Failure refusedThere(int peer, const Content& expected, const Content& sent) {
  return Failure{
      fmt::format("rank {} expects {}, this rank sends {}", peer, amount(expected), amount(sent)),
      peer, CommErrorKind::kMismatch};
}

}  // namespace lockstep::process_group
