#include "engine/import/RankTimeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/import/TraceBuckets.h"
#include "engine/import/TraceSteps.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"

namespace lockstep::imports {
namespace {

using trace::EventKind;
using trace::kNoBucket;

// Note [From a trace to a run]
// A trace knows threads, operators and kernels; a run knows steps, gradients, buckets and
// collectives. The parts are found one from another, each in its own file, and put into lanes here:
//
//       trace --> stepsOf  --> steps, backwards (TraceSteps) --+
//         |                                                    +--> bucketsOf (TraceBuckets)
//         |---> callsOf  --> calls (HostCalls) ----------------+    which call is a bucket's
//         `---> DeviceTime   where a moment of the host is on the device
//
//       lane 0  "step"          steps, phases
//       lane 1  "ddp"           gradients, buckets, their copies and waits, calls not carried out
//       lane n  "stream 7"      calls that a device carried out, or "gloo 0" by a thread
//       last    "device"        stretches in which kernels compute
//
// With a device, what the host did is moved to when the device came to it (addMoved), and the waits
// of the backward's end are left out: there the host waits for nothing.

class Timeline {
 public:
  explicit Timeline(const KinetoTrace& trace)
      : trace_(trace),
        launches_(trace),
        device_(trace, launches_),
        steps_(stepsOf(trace)),
        calls_(callsOf(trace, launches_)),
        buckets_(bucketsOf(steps_, calls_)) {}

  RankTimeline make() {
    made_.lanes = {"step", "ddp"};
    addPhases();
    for (std::size_t i = 0; i < steps_.backwards.size(); ++i) {
      addBackward(steps_.backwards[i], buckets_.backwards[i]);
    }
    addCalls();
    addKernels();
    made_.parameters = std::move(buckets_.parameters);
    made_.layouts = std::move(buckets_.layouts);
    made_.notes.merge(buckets_.notes);
    made_.counts.merge(buckets_.counts);
    // Iterations by forwards begin with 0 in each trace; JoinTraces counts them on.
    made_.countsForItself = steps_.countedByForwards;
    made_.steps = steps_.steps.size();
    say();
    return std::move(made_);
  }

 private:
  [[nodiscard]] std::uint16_t byDevice() const {
    return device_.known() ? trace::kByDevice : std::uint16_t{0};
  }

  TimedEvent& add(EventKind kind, std::uint32_t step, std::int64_t begin, std::int64_t end,
                  std::uint32_t lane = kStepLane) {
    TimedEvent& event = made_.events.emplace_back();
    event.kind = kind;
    event.step = step;
    event.beginNs = begin;
    event.endNs = std::max(begin, end);
    event.lane = lane;
    return event;
  }

  /// A span of the host, where the device did it.
  TimedEvent& addMoved(EventKind kind, std::uint32_t step, std::int64_t begin, std::int64_t end,
                       std::uint32_t lane = kStepLane) {
    TimedEvent& event = add(kind, step, device_(begin), device_(end), lane);
    event.detail = byDevice();
    return event;
  }

  void addPhases() {
    for (std::size_t i = 0; i < steps_.steps.size(); ++i) {
      const TraceStep& step = steps_.steps[i];
      // A step on a device ends where the next begins, or with its last kernel.
      const bool joins = device_.known() && i + 1 < steps_.steps.size();
      // The host is done with a step long before its device: with the host's end, the kernels that
      // are still running would lie between the steps.
      add(EventKind::kStep, step.number, device_(step.beginNs),
          device_(joins ? steps_.steps[i + 1].beginNs : step.endNs));
    }
    for (const TraceForward& forward : steps_.forwards) {
      addMoved(EventKind::kForward, forward.step, forward.beginNs, forward.endNs);
    }
    for (const HostOp* op : steps_.optimizers) {
      if (const auto step = steps_.at(op->beginNs)) {
        addMoved(EventKind::kOptimizer, *step, op->beginNs, op->endNs);
      }
    }
    for (const HostOp* op : steps_.data) {
      if (const auto step = steps_.at(op->beginNs)) {
        add(EventKind::kData, *step, op->beginNs, op->endNs);
      }
    }
    for (const HostOp& op : trace_.ops) {  // of a trace that Lockstep exported
      const EventKind kind = op.kind == HostOpKind::kOwnForward     ? EventKind::kForward
                             : op.kind == HostOpKind::kOwnBackward  ? EventKind::kBackward
                             : op.kind == HostOpKind::kOwnOptimizer ? EventKind::kOptimizer
                                                                    // Stands for "none of these"
                                                                    // here.
                                                                    : EventKind::kGap;
      if (kind != EventKind::kGap) {
        add(kind, op.number, op.beginNs, op.endNs);
      }
    }
  }

  void addBackward(const TraceBackward& backward, const BackwardBuckets& buckets) {
    addMoved(EventKind::kBackward, backward.step, backward.beginNs, backward.endNs);
    if (buckets.buckets.empty()) {
      return;
    }
    std::vector<std::uint16_t> bucketOf(backward.gradients.size(), kNoBucket);
    std::vector<std::int64_t> readyNs(backward.gradients.size());
    for (std::size_t i = 0; i < buckets.buckets.size(); ++i) {
      for (const std::uint32_t gradient : buckets.buckets[i].gradients) {
        bucketOf[gradient] = static_cast<std::uint16_t>(i);
      }
      bucketOfCall_[buckets.buckets[i].call] = static_cast<std::uint16_t>(i);
    }
    addGradients(backward, buckets, bucketOf, readyNs);
    std::int64_t done = backward.beginNs;  // the last gradient or launch
    for (std::size_t i = 0; i < buckets.buckets.size(); ++i) {
      const TraceBucket& bucket = buckets.buckets[i];
      const Call& call = calls_[bucket.call];
      const std::uint64_t bytes = call.facts.elements * dtypeBytes(call.facts.dtype);
      const auto instant = [&](EventKind kind, std::int64_t ns) {
        TimedEvent& event = addMoved(kind, backward.step, ns, ns, kDdpLane);
        event.bucket = static_cast<std::uint16_t>(i);
        event.value = bytes;
      };
      // A bucket of which no gradients are known was ready at the latest when it was launched.
      std::int64_t ready = *call.askedNs;
      if (!bucket.gradients.empty()) {
        // They are in the order in which they came.
        ready = readyNs[bucket.gradients.back()];
      }
      instant(EventKind::kBucketReady, ready);
      instant(EventKind::kBucketLaunched, *call.askedNs);
      done = std::max({done, ready, call.askedEndNs});
    }
    if (!device_.known()) {
      addEnd(backward, buckets, done);
    }
  }

  void addGradients(const TraceBackward& backward, const BackwardBuckets& buckets,
                    const std::vector<std::uint16_t>& bucketOf,
                    std::vector<std::int64_t>& readyNs) {
    for (std::size_t i = 0; i < backward.gradients.size(); ++i) {
      const HostOp& gradient = *backward.gradients[i];
      const HostOp* accumulate = accumulateOf(backward, gradient);
      // The evaluation contains DDP's hooks, which launch buckets: the gradient is there when the
      // AccumulateGrad within it ends. Without a record of that, its begin is nearest.
      readyNs[i] = accumulate != nullptr ? accumulate->endNs : gradient.beginNs;
      if (!buckets.parameters.empty()) {
        TimedEvent& ready = add(EventKind::kGradientReady, backward.step, device_(readyNs[i]),
                                device_(readyNs[i]), kDdpLane);
        ready.bucket = bucketOf[i];
        ready.value = buckets.parameters[i];
      }
    }
    // One copy for each gradient, in the same order, or it cannot be told whose they are.
    if (backward.copiesIn.size() != backward.gradients.size() || buckets.parameters.empty()) {
      return;
    }
    for (std::size_t i = 0; i < backward.copiesIn.size(); ++i) {
      TimedEvent& copy = addMoved(EventKind::kCopyIn, backward.step, backward.copiesIn[i]->beginNs,
                                  backward.copiesIn[i]->endNs, kDdpLane);
      copy.bucket = bucketOf[i];
      copy.value = buckets.parameters[i];
    }
  }

  /// What the thread of the backward does after its last gradient, where it waits itself.
  void addEnd(const TraceBackward& backward, const BackwardBuckets& buckets, std::int64_t done) {
    // Without a device the thread of the backward waits itself, from its last launch to the end.
    if (backward.endNs > done) {
      add(EventKind::kFinalize, backward.step, done, backward.endNs, kDdpLane);
    }
    std::int64_t waited = done;
    auto copy = backward.copiesOut.begin();
    for (std::size_t i = 0; i < buckets.buckets.size(); ++i) {
      const TraceBucket& bucket = buckets.buckets[i];
      const Call& call = calls_[bucket.call];
      // DDP waits for buckets in their order: the wait for one begins where the one before ended,
      // and is none where the bucket was done by then.
      if (call.flew && call.endNs > waited && call.endNs <= backward.endNs) {
        TimedEvent& wait = add(EventKind::kWait, backward.step, waited, call.endNs, kDdpLane);
        wait.bucket = static_cast<std::uint16_t>(i);
        waited = call.endNs;
      }
      const auto count = static_cast<std::ptrdiff_t>(bucket.gradients.size());
      // A copy out for each gradient of the bucket; the span is from the first to the last of them.
      if (count > 0 && backward.copiesOut.end() - copy >= count) {
        TimedEvent& out = add(EventKind::kCopyOut, backward.step, (*copy)->beginNs,
                              (*(copy + count - 1))->endNs, kDdpLane);
        out.bucket = static_cast<std::uint16_t>(i);
        out.value = call.facts.elements * dtypeBytes(call.facts.dtype);
        copy += count;
        waited = std::max(waited, out.endNs);
      }
    }
  }

  std::uint32_t laneOf(const Call& call) {
    if (!call.flew) {
      return kDdpLane;
    }
    const std::string name = call.onDevice ? fmt::format("stream {}", call.carrier)
                                           : fmt::format("{} {}", backend(), carriers_.size());
    const auto [at, isNew] = carriers_.try_emplace({call.onDevice, call.carrier},
                                                   static_cast<std::uint32_t>(made_.lanes.size()));
    if (isNew) {
      made_.lanes.push_back(name);
    }
    return at->second;
  }

  [[nodiscard]] std::string backend() const {
    return trace_.backend.empty() ? "communication" : trace_.backend;
  }

  void addCalls() {
    std::size_t unseen = 0;
    std::size_t sizeless = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Call& call = calls_[i];
      const std::int64_t at = call.askedNs.value_or(call.beginNs);
      const auto step = steps_.steps.empty() ? std::optional<std::uint32_t>(0) : steps_.at(at);
      if (!step) {
        continue;  // before the first step
      }
      RankCall& made = made_.calls.emplace_back();
      made.facts = call.facts;
      made.step = *step;
      made.askedNs = call.askedNs;
      made.flew = call.flew;
      made.beginNs = call.beginNs;
      made.endNs = call.endNs;
      made.lane = laneOf(call);
      if (const auto bucket = bucketOfCall_.find(i); bucket != bucketOfCall_.end()) {
        made.bucket = bucket->second;
      } else if (call.facts.bucket) {
        made.bucket = *call.facts.bucket;
      }
      unseen += call.flew ? 0 : 1;
      sizeless += made.bytes() == 0 && call.facts.operation != trace::Operation::kBarrier ? 1 : 0;
    }
    if (unseen > 0) {
      made_.counts
          ["of {0} of its {1} collectives the trace says that they were asked for, and not "
           "when they were carried out: in flight is what it says of the others"] = {
          unseen, made_.calls.size()};
    }
    if (sizeless > 0) {
      made_.counts
          ["the trace does not say how large {0} of its {1} collectives were: their bytes "
           "are shown as 0"] = {sizeless, made_.calls.size()};
    }
  }

  /// When the device computed: kernels of all its streams but those that communicate.
  void addKernels() {
    std::vector<const Kernel*> kernels;
    for (const Kernel& kernel : trace_.kernels) {
      if (!kernel.communicates) {
        kernels.push_back(&kernel);
      }
    }
    // Streams overlap, and small kernels follow each other by thousands a step. One span for each
    // stretch without a gap keeps what is asked of them: when the device computed, and how many
    // they were.
    std::sort(kernels.begin(), kernels.end(),
              [](const Kernel* a, const Kernel* b) { return a->beginNs < b->beginNs; });
    const auto lane = static_cast<std::uint32_t>(made_.lanes.size());
    if (!kernels.empty()) {
      made_.lanes.emplace_back("device");
    }
    TimedEvent* open = nullptr;
    for (const Kernel* kernel : kernels) {
      const Launch* launch = launches_.of(kernel->correlation);
      // A kernel is of the step in which the host started it.
      const std::int64_t at = launch != nullptr ? launch->beginNs : kernel->beginNs;
      const auto step = steps_.steps.empty() ? std::optional<std::uint32_t>(0) : steps_.at(at);
      if (!step) {
        continue;
      }
      if (open != nullptr && kernel->beginNs <= open->endNs && open->step == *step) {
        open->endNs = std::max(open->endNs, kernel->endNs);
        ++open->value;
        continue;
      }
      open = &add(EventKind::kKernels, *step, kernel->beginNs, kernel->endNs, lane);
      open->value = 1;
    }
  }

  void say() {
    if (steps_.steps.empty()) {
      made_.notes.insert(
          "the trace has neither a ProfilerStep nor a forward of "
          "DistributedDataParallel: it is shown without iterations");
    } else if (steps_.countedByForwards) {
      made_.notes.insert(
          "the trace has no ProfilerStep (profiler.step() makes them): an iteration "
          "is what lies between two forwards of DistributedDataParallel");
    }
    if (made_.calls.empty()) {
      made_.notes.insert("the trace has no collectives");
    }
    if (!trace_.kernels.empty() && !device_.known() && !trace_.isExport) {
      made_.notes.insert(
          "the trace does not say what started its kernels: phases, gradients and "
          "buckets stand at the host's time, kernels at the device's");
    }
  }

  const KinetoTrace& trace_;
  LaunchTimes launches_;
  DeviceTime device_;
  TraceSteps steps_;
  std::vector<Call> calls_;
  TraceBuckets buckets_;
  std::map<std::size_t, std::uint16_t> bucketOfCall_;
  std::map<std::pair<bool, std::int64_t>, std::uint32_t> carriers_;
  RankTimeline made_;
};

}  // namespace

RankTimeline timelineOf(const KinetoTrace& trace) {
  return Timeline(trace).make();
}

std::set<std::string> notesOf(const RankTimeline& timeline) {
  std::set<std::string> notes = timeline.notes;
  for (const auto& [text, count] : timeline.counts) {
    notes.insert(fmt::format(fmt::runtime(text), count.some, count.all));
  }
  return notes;
}

}  // namespace lockstep::imports
