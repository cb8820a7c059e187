#include "tests/support/RankRecording.h"

#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "engine/trace/Event.h"
#include "engine/trace/SegmentReader.h"

namespace lockstep::support {
namespace {

template <typename T>
T valueOf(base::Result<T> result) {
  if (!result.ok()) {
    throw std::runtime_error(result.error().message());
  }
  return std::move(result).value();
}

}  // namespace

RankRecording::RankRecording(const trace::SegmentOptions& options)
    : segment_(valueOf(trace::Segment::create(options))),
      tracer_(valueOf(trace::Segment::attach(dup(segment_.fd())))) {
  segment_.header().captureEnabled.store(1);
}

std::map<std::string, std::vector<trace::Event>> RankRecording::lanes() {
  trace::SegmentReader reader(segment_);
  std::map<std::string, std::vector<trace::Event>> lanes;
  for (std::uint32_t lane = 0; lane < reader.lanes(); ++lane) {
    auto& events = lanes[reader.laneName(lane)];
    reader.drainLane(lane, [&](const trace::Event& event) {
      if (event.kind != static_cast<std::uint16_t>(trace::EventKind::kOffCore)) {
        events.push_back(event);
      }
    });
    if (reader.dropped(lane) != 0) {
      throw std::runtime_error("lane \"" + reader.laneName(lane) + "\" dropped events");
    }
  }
  return lanes;
}

std::vector<trace::Event> RankRecording::eventsOf(trace::EventKind kind) {
  std::vector<trace::Event> found;
  for (const auto& [name, events] : lanes()) {
    for (const trace::Event& event : events) {
      if (event.kind == static_cast<std::uint16_t>(kind)) {
        found.push_back(event);
      }
    }
  }
  return found;
}

std::vector<trace::Message> RankRecording::messages() {
  std::vector<trace::Message> messages;
  const bool sound = trace::SegmentReader(segment_).drainMessages([&](std::string_view json) {
    messages.push_back(valueOf(trace::messageFromJson(json)));
  });
  if (!sound || segment_.header().messagesDropped.load() != 0) {
    throw std::runtime_error("messages were lost");
  }
  return messages;
}

}  // namespace lockstep::support
