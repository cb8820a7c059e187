#include "engine/hooks/verify/TrialPhases.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "engine/hooks/HookError.h"
#include "engine/trace/Event.h"
#include "engine/trace/SegmentReader.h"

namespace lockstep::hooks {

namespace {

// A verification records some hundred phases.
constexpr trace::SegmentOptions kRoom{4, 1U << 12, 1U << 12};
constexpr double kNsPerMs = 1e6;

trace::Segment segmentOf(base::Result<trace::Segment> made) {
  if (!made.ok()) {
    throw HookError("what the hook does cannot be recorded: " + made.error().message());
  }
  return std::move(made).value();
}

/// What a hook did itself, in ticks.
struct Work {
  std::uint64_t encode = 0;
  std::uint64_t decode = 0;
};

}  // namespace

TrialPhases::TrialPhases()
    : begin_(base::readClock()),
      segment_(segmentOf(trace::Segment::create(kRoom))),
      tracer_(segmentOf(trace::Segment::attach(dup(segment_.fd())))) {}

void TrialPhases::tell(std::uint32_t first, std::uint32_t end,
                       const std::vector<std::uint64_t>& bytes,
                       plugin::Verification& verification) {
  std::map<std::pair<std::uint32_t, std::uint16_t>, Work> work;  // by step and bucket
  trace::SegmentReader reader(segment_);
  for (std::uint32_t lane = 0; lane < reader.lanes(); ++lane) {
    reader.drainLane(lane, [&](const trace::Event& event) {
      Work& of = work[{event.step, event.bucket}];
      const auto kind = static_cast<trace::EventKind>(event.kind);
      of.encode += kind == trace::EventKind::kHookEncode ? event.durationTicks : 0;
      of.decode += kind == trace::EventKind::kHookDecode ? event.durationTicks : 0;
    });
    if (reader.dropped(lane) != 0) {
      return;  // of some steps something is missing
    }
  }
  const double msPerTick = base::calibrate(begin_, base::readClock()).nsPerTick / kNsPerMs;
  const auto ms = [msPerTick](std::uint64_t ticks) {
    return static_cast<double>(ticks) * msPerTick;
  };
  std::vector<double> around;
  for (std::uint32_t step = first; step < end; ++step) {
    for (std::size_t bucket = 0; bucket < bytes.size(); ++bucket) {
      const Work& of = work[{step, static_cast<std::uint16_t>(bucket)}];
      verification.calls.push_back({bytes[bucket], ms(of.encode), ms(of.decode)});
    }
    const Work& beside = work[{step, trace::kNoBucket}];
    around.push_back(ms(beside.encode + beside.decode));
  }
  const auto middle = around.begin() + static_cast<std::ptrdiff_t>(around.size() / 2);
  std::nth_element(around.begin(), middle, around.end());
  verification.aroundStepMs = *middle;
}

}  // namespace lockstep::hooks
