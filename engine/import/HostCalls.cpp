#include "engine/import/HostCalls.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace lockstep::imports {
namespace {

/// Finds the call during which a thread was at a moment.
class ByThread {
 public:
  explicit ByThread(const std::vector<Call>& calls) : calls_(calls) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      of_[calls[i].thread].push_back(i);  // calls of a thread come in the order of time
    }
  }

  [[nodiscard]] std::optional<std::size_t> at(std::uint32_t thread, std::int64_t ns) const {
    const auto found = of_.find(thread);
    if (found == of_.end()) {
      return std::nullopt;
    }
    const auto behind =
        std::upper_bound(found->second.begin(), found->second.end(), ns,
                         [&](std::int64_t t, std::size_t i) { return t < *calls_[i].askedNs; });
    // The last call that began by then, if it had not ended: calls of one thread do not overlap.
    if (behind == found->second.begin() || calls_[*(behind - 1)].askedEndNs < ns) {
      return std::nullopt;
    }
    return *(behind - 1);
  }

 private:
  const std::vector<Call>& calls_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> of_;
};

struct Asked {
  std::vector<Call> calls;
  std::vector<const CommOp*> gloo;  // on the threads that carry out
  std::unordered_map<std::int64_t, std::size_t> byExternalId;
};

Asked mergeRecords(const KinetoTrace& trace) {
  std::vector<const CommOp*> ops;
  ops.reserve(trace.comms.size());
  // What Lockstep exports for Holistic Trace Analysis has each collective once more as a kernel.
  // Its kernels carry the same facts, and at the time when the data moved.
  const bool again = trace.isExport && !trace.kernelFacts.empty();
  for (const CommOp& op : trace.comms) {
    if (!again) {
      ops.push_back(&op);
    }
  }
  // Outer records before those within them: by thread, then begin, the longer one first.
  std::stable_sort(ops.begin(), ops.end(), [](const CommOp* a, const CommOp* b) {
    return std::tuple(a->thread, a->beginNs, -a->endNs) <
           std::tuple(b->thread, b->beginNs, -b->endNs);
  });
  Asked asked;
  std::vector<CommOp::Layer> outer;  // of each call
  for (const CommOp* op : ops) {
    Call* open = asked.calls.empty() ? nullptr : &asked.calls.back();
    // Within the call that is open, and of a deeper layer than its outermost record: a broadcast
    // that runs inside another call's record, on the same layer, is a call of its own.
    const bool within = open != nullptr && open->thread == op->thread &&
                        op->beginNs < open->askedEndNs && op->endNs <= open->askedEndNs &&
                        outer.back() < op->layer;
    if (within) {
      CallFacts facts = op->facts;  // inner records know more of the sizes
      facts.complete(open->facts);
      open->facts = facts;
    } else if (op->isGloo) {
      // Not within a call, and Gloo's: it lies on a thread that carries out.
      asked.gloo.push_back(op);
      continue;
    } else {
      Call& call = asked.calls.emplace_back();
      call.facts = op->facts;
      call.thread = op->thread;
      call.askedNs = op->beginNs;
      call.askedEndNs = op->endNs;
      outer.push_back(op->layer);
    }
    if (op->externalId >= 0) {
      asked.byExternalId[op->externalId] = asked.calls.size() - 1;
    }
  }
  // Several threads carry out at once; joinGloo() wants them by begin.
  std::stable_sort(asked.gloo.begin(), asked.gloo.end(),
                   [](const CommOp* a, const CommOp* b) { return a->beginNs < b->beginNs; });
  return asked;
}

void fly(Call& call, std::int64_t beginNs, std::int64_t endNs, std::int64_t carrier) {
  // A call may start several kernels: it lasts from the first to the last.
  call.beginNs = call.flew ? std::min(call.beginNs, beginNs) : beginNs;
  call.endNs = call.flew ? std::max(call.endNs, endNs) : endNs;
  call.flew = true;
  call.carrier = carrier;
}

void joinKernels(const KinetoTrace& trace, const LaunchTimes& launches, Asked& asked) {
  const ByThread byThread(asked.calls);
  std::vector<Call> others;
  for (const Kernel& kernel : trace.kernels) {
    if (!kernel.communicates) {
      continue;
    }
    std::optional<std::size_t> at;
    if (const Launch* launch = launches.of(kernel.correlation)) {
      at = byThread.at(launch->thread, launch->beginNs);
    }
    if (const auto found = asked.byExternalId.find(kernel.externalId);
        !at && found != asked.byExternalId.end()) {
      at = found->second;
    }
    Call& call = at ? asked.calls[*at] : others.emplace_back();
    CallFacts facts = trace.kernelFacts[kernel.facts];
    facts.complete(call.facts);
    // The call's own facts go first, the kernel's fill in. A kernel without a call is one that was
    // started before the trace began.
    if (at) {
      call.facts.complete(facts);
    } else {
      call.facts = facts;
    }
    call.onDevice = true;
    fly(call, kernel.beginNs, kernel.endNs, kernel.stream);
  }
  asked.calls.insert(asked.calls.end(), others.begin(), others.end());
}

bool mayBe(const Call& call, const CommOp& op) {
  return call.facts.operation == op.facts.operation &&
         (call.facts.elements == 0 || op.facts.elements == 0 ||
          call.facts.elements == op.facts.elements);
}

// Both lists by time; each call takes the first record after it that may be its own. What Gloo
// begins out of order, of unlike groups, is found by operation and size. `first` passes over those
// at the front that are taken, so that the search is short as long as the two run in step.
void joinGloo(Asked& asked) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < asked.calls.size(); ++i) {
    if (asked.calls[i].askedNs && !asked.calls[i].flew) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return *asked.calls[a].askedNs < *asked.calls[b].askedNs;
  });
  std::vector<bool> taken(asked.gloo.size(), false);
  std::size_t first = 0;
  for (const std::size_t i : order) {
    Call& call = asked.calls[i];
    while (first < asked.gloo.size() && taken[first]) {
      ++first;
    }
    for (std::size_t g = first; g < asked.gloo.size(); ++g) {
      const CommOp& op = *asked.gloo[g];
      // Nothing is carried out before it was asked for.
      if (taken[g] || op.beginNs < *call.askedNs || !mayBe(call, op)) {
        continue;
      }
      taken[g] = true;
      call.facts.complete(op.facts);
      fly(call, op.beginNs, op.endNs, static_cast<std::int64_t>(op.thread));
      break;
    }
  }
  for (std::size_t g = 0; g < asked.gloo.size(); ++g) {
    if (!taken[g]) {  // asked for before the trace began, or by what makes no record
      Call& call = asked.calls.emplace_back();
      call.facts = asked.gloo[g]->facts;
      fly(call, asked.gloo[g]->beginNs, asked.gloo[g]->endNs,
          static_cast<std::int64_t>(asked.gloo[g]->thread));
    }
  }
}

}  // namespace

std::vector<Call> callsOf(const KinetoTrace& trace, const LaunchTimes& launches) {
  Asked asked = mergeRecords(trace);
  joinKernels(trace, launches, asked);
  joinGloo(asked);
  // Before PyTorch 2.1 a wait has a record of its own that says nothing.
  std::erase_if(asked.calls, [](const Call& call) {
    return !call.flew && call.facts.operation == trace::Operation::kNone;
  });
  const auto at = [](const Call& call) { return call.askedNs.value_or(call.beginNs); };
  std::stable_sort(asked.calls.begin(), asked.calls.end(),
                   [&](const Call& a, const Call& b) { return at(a) < at(b); });
  return std::move(asked.calls);
}

}  // namespace lockstep::imports
