#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/HookCalls.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::cost {

// Note [A hook that was verified]
// `lockstep hooks NAME --verify` trains with a hook alone, on 2 and on 4 ranks of this machine.
// What it measures there tells a forecast of any run what the hook would do:
//   bytes   What the rank that sent most sent in a step, as a share of the 2 (n-1)/n of all bytes
//           that an allreduce by a ring has each of n ranks send. A hook that gathers sends more,
//           the more ranks there are: its share is known of the numbers of ranks that were
//           verified. However many calls it makes, they count as one allreduce of so many bytes.
//   work    A line through what it took before and after a bucket by its bytes, and how far half of
//           the calls are from that. Of buckets much larger than those of the verification the line
//           itself is in doubt: no cache holds them.
// A hook whose ranks end a step with unlike results does not send alike in every step: of it the
// verification tells nothing.

/// What was measured of a hook on some ranks.
struct VerifiedOnRanks {
  int ranks = 0;
  bool sameResult = false;      ///< all ranks ended each step with it
  std::uint64_t elements = 0;   ///< of the gradients of a step
  std::uint64_t bytes = 0;      ///< of them
  std::uint64_t sentBytes = 0;  ///< in a step, by the rank that sent most
  double aroundStepNs = 0;      ///< its time around a step
  HookCalls calls;
};

struct VerifiedHook {
  experiment::HookConfig hook;  ///< as an experiment asks for it, with its parameters as they come
  std::vector<VerifiedOnRanks> runs;
};

/// What such a hook would do in a run, and a sentence that says what that rests on.
struct VerifiedWork {
  HookWork work;
  std::string text;
};

/// Returns what a hook would do with buckets of about `bucketBytes` on each of these numbers of
/// ranks. Error: a clause that ends "this run cannot tell, because ...". [any-thread]
base::Result<VerifiedWork> verifiedWork(const VerifiedHook& hook, const std::vector<int>& ranks,
                                        double bucketBytes);

}  // namespace lockstep::cost
