#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/import/DeviceTime.h"
#include "engine/import/KinetoTrace.h"

namespace lockstep::imports {

/// A collective as one rank asked for it and as its backend carried it out.
struct Call {
  CallFacts facts;
  std::uint32_t thread = 0;             ///< that asked; of KinetoTrace::threads
  std::optional<std::int64_t> askedNs;  ///< none: before the trace began
  std::int64_t askedEndNs = 0;
  bool flew = false;  ///< when it was carried out is known
  bool onDevice = false;
  std::int64_t beginNs = 0;  ///< of what carried it out, when it flew
  std::int64_t endNs = 0;
  std::int64_t carrier = 0;  ///< the stream, or the thread, that did
};

// Note [Calls of a trace]
// PyTorch makes several records of one collective, one within the other on the thread that asks
// for it: c10d's dispatcher, record_param_comms with group and sizes, the backend's own. They are
// one call, which takes what each of them says. A kernel of NCCL belongs to the call in which the
// device's library was told to start it (by their correlation), or else by its External id. Gloo's
// own records lie on the threads that carry a call out: a group's calls are begun in the order in
// which they were asked for, so that the first record that begins after a call, of the same
// operation and, where both say, the same size, is that call's.
std::vector<Call> callsOf(const KinetoTrace& trace, const LaunchTimes& launches);

}  // namespace lockstep::imports
