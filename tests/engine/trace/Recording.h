#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/trace/Recorder.h"
#include "engine/trace/Tracer.h"
#include "tests/engine/trace/RunFileSupport.h"

namespace lockstep::trace {

/// A recorder over the segments of `ranks` ranks, with the ranks' side at hand.
class Recording {
 public:
  explicit Recording(int ranks, RunFileWriterOptions options = {},
                     SegmentOptions segment = {.lanes = 3,
                                               .eventsPerLane = 1024,
                                               .messageRingBytes = 1 << 16},
                     Recorder::Rates rates = {std::chrono::milliseconds(2)}) {
    std::vector<Segment*> pointers;
    for (int rank = 0; rank < ranks; ++rank) {
      segments_.push_back(Segment::create(segment).value());
    }
    for (Segment& one : segments_) {
      pointers.push_back(&one);
      tracers_.push_back(std::make_unique<Tracer>(Segment::attach(dup(one.fd())).value()));
    }
    recorder_ = Recorder::start(createRun(path(), options), runningInfo(), pointers, rates);
  }

  Recorder& operator*() { return *recorder_; }
  Recorder* operator->() { return recorder_.get(); }
  Tracer& rank(int rank) { return *tracers_[static_cast<std::size_t>(rank)]; }
  Segment& segment(int rank) { return segments_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "a.lockstep"; }

  /// Polls the file as a live view does until `seen` is content; false after ten seconds.
  bool waitUntil(const std::function<bool(const RunUpdate&)>& seen) {
    if (tail_ == nullptr) {
      tail_ = openRun(path());
    }
    for (int i = 0; i < 5'000; ++i) {
      const RunUpdate update = tail_->poll().value();
      if (seen(update)) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  /// Finishes, and reads all of the file.
  RunUpdate finish() {
    const base::Status finished = recorder_->finish();
    EXPECT_TRUE(finished.ok()) << (finished.ok() ? "" : finished.error().message());
    return readAll(*openRun(path()));
  }

 private:
  TemporaryFolder folder_;
  std::vector<Segment> segments_;
  std::vector<std::unique_ptr<Tracer>> tracers_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<RunFileReader> tail_;
};

inline std::vector<double> valuesOf(const RunUpdate& update, const std::string& name,
                                    int rank = 0) {
  std::vector<double> values;
  for (const MetricRow& metric : update.metrics) {
    if (metric.name == name && metric.rank == rank) {
      values.push_back(metric.value);
    }
  }
  return values;
}

}  // namespace lockstep::trace
