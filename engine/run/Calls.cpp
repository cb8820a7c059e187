#include "engine/run/Calls.h"

#include "engine/trace/Event.h"

namespace lockstep::run {

std::optional<Call> callOf(trace::EventKind kind, std::uint16_t detail, std::uint64_t value) {
  return has(kind, kOfCall)
             ? std::optional(Call{trace::groupOf(detail), kind == trace::EventKind::kChecked,
                                  trace::collectiveSequence(value)})
             : std::nullopt;
}

bool isOfAll(std::uint16_t detail) {
  const trace::Operation operation = trace::operationOf(detail);
  return operation != trace::Operation::kSend && operation != trace::Operation::kRecv;
}

}  // namespace lockstep::run
