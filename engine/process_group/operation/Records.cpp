#include "engine/process_group/operation/Records.h"

#include <fmt/format.h>

#include "engine/trace/Event.h"

namespace lockstep::process_group {

Records::Records(const Member& member, const std::string& queueLane)
    : member_(member),
      tracer_(member.tracer != nullptr ? member.tracer : &silent_),
      wireCounter_(member.tracer == nullptr && member.wireCounter != nullptr ? member.wireCounter
                                                                             : tracer_),
      queueLane_(&lane(queueLane)) {}

trace::Lane& Records::lane(const std::string& name) const {
  return tracer_->lane(member_.groupNumber == 0 ? name
                                                : fmt::format("{} ({})", name, member_.group));
}

void Records::called(const Call& call) const {
  queueLane_->instant(trace::EventKind::kCollectiveQueued, call.options.step, call.options.bucket,
                      trace::packCollective(call.sequence, call.bytes),
                      trace::packOperation(call.operation, member_.groupNumber));
}

void Records::ended(const OpenCall& open, trace::Lane& lane) const {
  const Call& call = open.call;
  if (const std::uint64_t start = open.startTicks.load(); start != 0) {
    lane.span(trace::EventKind::kCollective, start, call.options.step, call.options.bucket,
              trace::packCollective(call.sequence, call.bytes),
              trace::packOperation(call.operation, member_.groupNumber));
  }
}

void Records::count(const WireBytes& bytes) const {
  if (bytes.sent != 0) {
    wireCounter_->countSent(bytes.sent);
  }
  if (bytes.received != 0) {
    wireCounter_->countReceived(bytes.received);
  }
}

}  // namespace lockstep::process_group
