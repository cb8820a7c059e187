#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/process_group/Call.h"
#include "engine/process_group/WireBytes.h"
#include "engine/process_group/operation/Member.h"
#include "engine/process_group/operation/OpenCall.h"
#include "engine/trace/Tracer.h"

namespace lockstep::process_group {

/// Writes down what a group does: events, and bytes on the wire. [any-thread]
class Records {
 public:
  /// `member` outlives this. The lane `queueLane` shows when calls are made.
  Records(const Member& member, const std::string& queueLane);

  /// The lane of this name; that of another group than the default one has its name, too. A thread
  /// writes to its own.
  [[nodiscard]] trace::Lane& lane(const std::string& name) const;
  [[nodiscard]] trace::Tracer& tracer() const { return *tracer_; }
  /// Where bytes on the wire are counted.
  [[nodiscard]] trace::Tracer& wireCounter() const { return *wireCounter_; }

  /// A call has been made. One at a time, in the order of the calls.
  void called(const Call& call) const;
  /// A call has ended now, which the lane shows if it was under way.
  void ended(const OpenCall& open, trace::Lane& lane) const;
  void count(const WireBytes& bytes) const;

 private:
  const Member& member_;
  trace::Tracer silent_;
  trace::Tracer* const tracer_;
  trace::Tracer* const wireCounter_;
  trace::Lane* const queueLane_;
};

}  // namespace lockstep::process_group
