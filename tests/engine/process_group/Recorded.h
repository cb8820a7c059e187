#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/trace/SegmentReader.h"
#include "engine/trace/Tracer.h"

namespace lockstep::process_group {

/// A tracer whose events can be read back.
struct Recorded {
  Recorded() {
    trace::SegmentOptions options;
    options.lanes = 8;
    options.eventsPerLane = 1024;
    options.messageRingBytes = 4096;
    auto made = trace::Segment::create(options);
    EXPECT_TRUE(made.ok());
    segment = std::make_unique<trace::Segment>(std::move(made).value());
    auto attached = trace::Segment::attach(dup(segment->fd()));
    EXPECT_TRUE(attached.ok()) << attached.error().message();
    segment->header().captureEnabled.store(1);
    tracer = std::make_unique<trace::Tracer>(std::move(attached).value());
  }

  std::map<std::string, std::vector<trace::Event>> events() {
    trace::SegmentReader reader(*segment);
    std::map<std::string, std::vector<trace::Event>> result;
    for (std::uint32_t lane = 0; lane < reader.lanes(); ++lane) {
      reader.drainLane(lane, [&](const trace::Event& event) {
        result[reader.laneName(lane)].push_back(event);
      });
    }
    return result;
  }

  std::unique_ptr<trace::Segment> segment;
  std::unique_ptr<trace::Tracer> tracer;
};

}  // namespace lockstep::process_group
