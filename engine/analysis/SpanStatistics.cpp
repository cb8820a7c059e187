#include "engine/analysis/SpanStatistics.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include "engine/analysis/Durations.h"

namespace lockstep::analysis {
namespace {

// A span that later ones may lie within.
struct Open {
  double end = 0;
  std::uint32_t group = 0;
  int within = -1;   // the span that covers it, as a place on the stack; -1: none
  double taken = 0;  // up to here the spans within it have been subtracted from its self time
};

// Sums up one thread's spans, sorted so that what covers others comes before them.
class Nesting {
 public:
  Nesting(std::vector<SpanStatistics>& groups, const std::optional<TimeWindow>& window)
      : groups_(groups), window_(window) {}

  void beginThread() { open_.clear(); }

  void add(const TimedSpan& span) {
    if (span.thread == kNoThread) {
      if (span.group < groups_.size()) {
        count(span, -1);
      }
      return;
    }
    // What has ended covers nothing further. One that ended under another is left in its place:
    // the test below passes over it.
    while (!open_.empty() && open_.back().end <= span.start) {
      open_.pop_back();
    }
    int within = static_cast<int>(open_.size()) - 1;
    while (within >= 0 && open_[static_cast<std::size_t>(within)].end < span.end()) {
      --within;
    }
    if (within >= 0) {
      // Where spans within it overlap, they take the time once.
      Open& around = open_[static_cast<std::size_t>(within)];
      if (around.group < groups_.size()) {
        groups_[around.group].self -=
            std::max(0.0, span.end() - std::max(span.start, around.taken));
      }
      around.taken = std::max(around.taken, span.end());
    }
    if (span.group < groups_.size()) {
      count(span, within);
    }
    open_.push_back({span.end(), span.group, within, span.start});
  }

 private:
  void count(const TimedSpan& span, int within) {
    bool outermost = true;
    for (int at = within; at >= 0 && outermost; at = open_[static_cast<std::size_t>(at)].within) {
      outermost = open_[static_cast<std::size_t>(at)].group != span.group;
    }
    SpanStatistics& own = groups_[span.group];
    own.self += span.duration;
    if (outermost) {
      own.total += span.duration;
      own.inWindow += window_ ? std::max(0.0, std::min(span.end(), window_->end) -
                                                  std::max(span.start, window_->start))
                              : span.duration;
    }
  }

  std::vector<SpanStatistics>& groups_;
  const std::optional<TimeWindow>& window_;
  std::vector<Open> open_;
};

void measure(SpanStatistics& group, const std::vector<double>& values) {
  if (values.empty()) {
    return;
  }
  const Durations durations = durationsOf(values);
  double squares = 0;
  for (const double duration : values) {
    squares += (duration - durations.mean) * (duration - durations.mean);
  }
  group.mean = durations.mean;
  group.deviation = std::sqrt(squares / static_cast<double>(durations.count()));
  group.min = durations.values.at(0);
  group.p50 = durations.p50;
  group.p90 = durations.p90;
  group.p99 = durations.p99;
  group.max = durations.max;
}

}  // namespace

double shareOf(const SpanStatistics& group, const TimeWindow& window, int ranks) {
  const double whole = (window.end - window.start) * ranks;
  return whole > 0 ? group.inWindow / whole : 0;
}

std::vector<SpanStatistics> spanStatistics(std::vector<TimedSpan> spans, std::size_t groups,
                                           const std::optional<TimeWindow>& window) {
  std::vector<SpanStatistics> result(groups);
  for (const TimedSpan& span : spans) {
    if (span.group < groups) {
      ++result[span.group].count;
    }
  }
  std::erase_if(spans, [](const TimedSpan& span) { return !(span.duration > 0); });
  // Stable: of two that cover each other, the one that was given first is the outer.
  std::stable_sort(spans.begin(), spans.end(), [](const TimedSpan& a, const TimedSpan& b) {
    return std::make_tuple(a.thread, a.start, -a.duration) <
           std::make_tuple(b.thread, b.start, -b.duration);
  });

  std::vector<std::vector<double>> durations(groups);
  Nesting nesting(result, window);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i == 0 || spans[i].thread != spans[i - 1].thread) {
      nesting.beginThread();
    }
    nesting.add(spans[i]);
    if (spans[i].group >= groups) {
      continue;
    }
    ++result[spans[i].group].measured;
    durations[spans[i].group].push_back(spans[i].duration);
  }
  for (std::size_t group = 0; group < groups; ++group) {
    measure(result[group], std::move(durations[group]));
  }
  return result;
}

}  // namespace lockstep::analysis
