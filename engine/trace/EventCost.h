#pragma once

namespace lockstep::trace {

/// Measures what it takes this thread, here and now, to emit one span into a ring of memory, in
/// ns: the least of some rounds, so that what else the machine does is left out. Takes well under a
/// millisecond. 0 when no memory can be had for it. [any-thread]
double eventCostNs();

}  // namespace lockstep::trace
