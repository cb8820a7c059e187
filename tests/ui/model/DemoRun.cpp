#include "tests/ui/model/DemoRun.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "engine/trace/Event.h"

namespace lockstep::ui::test {
namespace {

using trace::EventKind;

constexpr int kTracksARank = 3;
enum TrackOfRank { kStepTrack = 0, kHookTrack = 1, kGlooTrack = 2 };

struct Layer {
  const char* name;
  std::vector<std::int64_t> weight;
};

const std::array<Layer, 9>& layers() {
  static const std::array<Layer, 9> kLayers{{{"conv1", {32, 3, 3, 3}},
                                             {"conv2", {64, 32, 3, 3}},
                                             {"conv3", {128, 64, 3, 3}},
                                             {"conv4", {128, 128, 3, 3}},
                                             {"conv5", {256, 128, 3, 3}},
                                             {"conv6", {256, 256, 3, 3}},
                                             {"fc1", {1024, 512}},
                                             {"fc2", {512, 1024}},
                                             {"fc3", {10, 512}}}};
  return kLayers;
}

trace::ParametersMessage::Parameter parameter(const std::string& name,
                                              std::vector<std::int64_t> shape) {
  trace::ParametersMessage::Parameter p;
  p.name = name;
  p.dtype = "float32";
  p.numel = 1;
  for (const std::int64_t size : shape) {
    p.numel *= size;
  }
  p.bytes = p.numel * 4;
  p.shape = std::move(shape);
  return p;
}

class Simulation {
 public:
  explicit Simulation(const DemoOptions& options) : options_(options), random_(options.seed) {}

  trace::RunUpdate run() {
    tables();
    std::vector<double> now(static_cast<std::size_t>(options_.ranks), 0);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      now[static_cast<std::size_t>(rank)] = startUp(rank);
    }
    const double begin = *std::max_element(now.begin(), now.end()) + 200e3;
    std::fill(now.begin(), now.end(), begin);
    for (std::uint32_t step = 0; step < options_.steps; ++step) {
      oneStep(step, now);
    }
    // As the recorder sees them: a span is known when it ends.
    std::stable_sort(update_.spans.begin(), update_.spans.end(), [](const auto& a, const auto& b) {
      return a.startTicks + a.durationTicks < b.startTicks + b.durationTicks;
    });
    std::int64_t id = 1;
    for (trace::SpanRow& span : update_.spans) {
      span.id = id++;
    }
    return std::move(update_);
  }

 private:
  static std::uint64_t ticks(double ns) {
    return kDemoOriginTicks + static_cast<std::uint64_t>(std::llround(ns / kDemoNsPerTick));
  }

  double jitter(double part) {
    return 1 + part * (std::uniform_real_distribution<double>(-1, 1)(random_));
  }

  void span(int rank, int track, EventKind kind, double from, double to, std::uint32_t step,
            std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
            std::uint16_t detail = 0) {
    trace::SpanRow row;
    row.track = rank * kTracksARank + track;
    row.kind = kind;
    row.startTicks = ticks(from);
    row.durationTicks = ticks(to) - ticks(from);
    row.step = step;
    row.bucket = bucket;
    row.value = value;
    row.detail = detail;
    update_.spans.push_back(row);
  }

  void instant(int rank, int track, EventKind kind, double at, std::uint32_t step,
               std::uint16_t bucket, std::uint64_t value, std::uint16_t detail = 0) {
    span(rank, track, kind, at, at, step, bucket, value, detail);
  }

  void tables() {
    trace::RunInfo info;
    info.runId = "demo";
    info.name = "demo: cnn, 2 ranks, fp32 allreduce";
    info.state = options_.state;
    info.worldSize = options_.ranks;
    info.plannedSteps = options_.steps;
    info.startedAt = "2026-01-01T12:00:00Z";
    update_.info = info;
    update_.clock = base::ClockCalibration{kDemoOriginTicks, 0, kDemoNsPerTick};
    update_.ranks.emplace();
    update_.tracks.emplace();
    for (int rank = 0; rank < options_.ranks; ++rank) {
      trace::RankInfo& entry = update_.ranks->emplace_back();
      entry.rank = rank;
      entry.pid = 4000 + rank;
      entry.state = options_.state == trace::RunState::kFinished ? "finished" : "running";
      entry.wireBytes = 6'090'000ull * options_.steps;
      entry.eventsDropped = options_.gapOnRank0 && rank == 0 ? 412 : 0;
      const std::array<const char*, kTracksARank> names{"step", "hook", "gloo 0"};
      for (int track = 0; track < kTracksARank; ++track) {
        update_.tracks->push_back(
            {rank * kTracksARank + track, rank, names[static_cast<std::size_t>(track)]});
      }
    }
    update_.parameters.emplace();
    for (const Layer& layer : layers()) {
      const std::string name = layer.name;
      update_.parameters->push_back(parameter(name + ".weight", layer.weight));
      update_.parameters->push_back(parameter(name + ".bias", {layer.weight.front()}));
    }
    update_.layouts.emplace();
    update_.layouts->push_back(layout(0, 0, 4'000'000));
    update_.layouts->push_back(layout(1, 1, 1'000'000));
  }

  // Buckets of at most `cap` bytes, parameters in the reverse of their registration.
  trace::BucketsMessage layout(std::uint32_t number, std::uint32_t step, std::uint64_t cap) const {
    trace::BucketsMessage message;
    message.layout = number;
    message.step = step;
    message.reason = number == 0 ? "construction" : "rebuild";
    trace::BucketsMessage::Bucket bucket;
    const auto close = [&] {
      if (!bucket.parameters.empty()) {
        bucket.limitBytes = cap;
        bucket.dtype = "float32";
        message.buckets.push_back(bucket);
        bucket = {};
      }
    };
    for (std::size_t i = update_.parameters->size(); i-- > 0;) {
      bucket.parameters.push_back(static_cast<std::uint32_t>(i));
      bucket.offsets.push_back(bucket.bytes);
      bucket.bytes += static_cast<std::uint64_t>((*update_.parameters)[i].bytes);
      if (bucket.bytes >= cap) {
        close();
      }
    }
    close();
    return message;
  }

  double startUp(int rank) {
    double t = rank * 0.4e6;
    const std::array<double, 5> lengths{210e6, 34e6, 12e6, 48e6, 5.5e6};
    for (std::size_t stage = 0; stage < lengths.size(); ++stage) {
      const double end = t + lengths[stage] * jitter(0.05);
      span(rank, kStepTrack, EventKind::kStartup, t, end, 0, trace::kNoBucket, 0,
           static_cast<std::uint16_t>(stage));
      t = end + 20e3;
    }
    return t;
  }

  struct RankStep {
    double start = 0;
    double forward = 0;
    double backward = 0;
    double gradientsDone = 0;
    std::vector<double> launched;  // by bucket
    std::vector<double> done;
  };

  void oneStep(std::uint32_t step, std::vector<double>& now) {
    const trace::BucketsMessage& layout = (*update_.layouts)[step == 0 ? 0 : 1];
    std::vector<RankStep> ranks(now.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      compute(static_cast<int>(r), step, layout, now[r], ranks[r]);
    }
    communicate(step, layout, ranks);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      now[r] = finish(static_cast<int>(r), step, layout, ranks[r]);
    }
  }

  // Data, forward, and the backward up to the last gradient.
  void compute(int rank, std::uint32_t step, const trace::BucketsMessage& layout, double t,
               RankStep& out) {
    const double slow = rank == options_.slowRank ? options_.slowFactor : 1.0;
    out.start = t;
    const double data = t + 0.55e6 * jitter(0.2);
    span(rank, kStepTrack, EventKind::kData, t, data, step);
    out.forward = data + 15e3;
    const double forwardEnd = out.forward + 5.2e6 * jitter(0.06);
    if (step == 1) {
      span(rank, kStepTrack, EventKind::kRebuildBuckets, out.forward, out.forward + 0.62e6, step);
    }
    span(rank, kStepTrack, EventKind::kForward, out.forward, forwardEnd, step);
    out.backward = forwardEnd + 10e3;
    if (options_.coreWaits && rank == 0) {
      span(rank, kStepTrack, EventKind::kOffCore, forwardEnd - 1.5e6, out.backward + 2.5e6, step,
           trace::kNoBucket, 1'100'000);
      span(rank, kStepTrack, EventKind::kOffCore, out.backward + 3e6, out.backward + 7e6, step,
           trace::kNoBucket, 1'300'000);
    }
    t = out.backward + 120e3;
    for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
      const auto bucket = static_cast<std::uint16_t>(b);
      for (const std::uint32_t index : layout.buckets[b].parameters) {
        const auto bytes = static_cast<double>((*update_.parameters)[index].bytes);
        const bool bias = index % 2 == 1;
        t += (bias ? 40e3 : 650e3 + bytes * 0.28) * slow * jitter(0.08);
        instant(rank, kStepTrack, EventKind::kGradientReady, t, step, bucket, index);
        const double copied = t + 2e3 + bytes * 0.11;
        span(rank, kStepTrack, EventKind::kCopyIn, t + 300, copied, step, bucket, index);
        t = copied;
      }
      const std::uint64_t bytes = layout.buckets[b].bytes;
      instant(rank, kStepTrack, EventKind::kBucketReady, t + 200, step, bucket, bytes);
      t += 900;
      instant(rank, kStepTrack, EventKind::kBucketLaunched, t, step, bucket, bytes);
      out.launched.push_back(t);
    }
    out.gradientsDone = t + 60e3;
  }

  // One collective a bucket, in order; each begins to move bytes when all ranks are there.
  void communicate(std::uint32_t step, const trace::BucketsMessage& layout,
                   std::vector<RankStep>& ranks) {
    double wireFree = 0;
    for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
      const auto bucket = static_cast<std::uint16_t>(b);
      const std::uint64_t bytes = layout.buckets[b].bytes;
      std::vector<double> arrived;
      for (const RankStep& rank : ranks) {
        const double before = rank.done.empty() ? 0 : rank.done.back();
        arrived.push_back(std::max(rank.launched[b] + 18e3 * jitter(0.5), before + 4e3));
      }
      const double all = std::max(*std::max_element(arrived.begin(), arrived.end()), wireFree);
      const double end = all + (110e3 + static_cast<double>(bytes) / 1.15) * jitter(0.1);
      wireFree = end - 30e3;
      const std::uint64_t value = trace::packCollective(sequence_++, bytes);
      const std::uint16_t detail = trace::packOperation(trace::Operation::kAllreduce);
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const int rank = static_cast<int>(r);
        const double done = end + 6e3 * static_cast<double>(r);
        const double launched = ranks[r].launched[b];
        instant(rank, kHookTrack, EventKind::kCollectiveQueued, launched + 3e3, step, bucket, value,
                detail);
        span(rank, kGlooTrack, EventKind::kCollective, arrived[r], done, step, bucket, value,
             detail);
        span(rank, kHookTrack, EventKind::kHookCommunicate, launched + 2e3, done + 5e3, step,
             bucket, bytes);
        ranks[r].done.push_back(done);
      }
    }
  }

  // Waits, copies out, optimizer; returns when the next iteration starts.
  double finish(int rank, std::uint32_t step, const trace::BucketsMessage& layout,
                const RankStep& times) {
    const double begin = times.gradientsDone;
    double t = begin + 15e3;
    for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
      const auto bucket = static_cast<std::uint16_t>(b);
      const double waited = std::max(t + 1e3, times.done[b] + 12e3);
      span(rank, kStepTrack, EventKind::kWait, t, waited, step, bucket);
      const double copied =
          waited + 4e3 + static_cast<double>(layout.buckets[b].bytes) * 0.1;
      span(rank, kStepTrack, EventKind::kCopyOut, waited + 500, copied, step, bucket,
           layout.buckets[b].bytes);
      t = copied + 1e3;
    }
    span(rank, kStepTrack, EventKind::kFinalize, begin, t, step);
    const double backwardEnd = t + 25e3;
    span(rank, kStepTrack, EventKind::kBackward, times.backward, backwardEnd, step);
    const double optimizerEnd = backwardEnd + 10e3 + 1.7e6 * jitter(0.05);
    span(rank, kStepTrack, EventKind::kOptimizer, backwardEnd + 10e3, optimizerEnd, step);
    const double end = optimizerEnd + 20e3;
    span(rank, kStepTrack, EventKind::kStep, times.start, end, step);
    if (options_.gapOnRank0 && rank == 0 && step == 10) {
      span(rank, kStepTrack, EventKind::kGap, times.backward, backwardEnd, step,
           trace::kNoBucket, 412);
    }
    update_.metrics.push_back({static_cast<std::int64_t>(update_.metrics.size()) + 1, rank, "loss",
                               step, ticks(end), 2.3 * std::exp(-0.04 * step) * jitter(0.03)});
    return end + 12e3;
  }

  const DemoOptions options_;
  std::mt19937 random_;
  trace::RunUpdate update_;
  std::uint32_t sequence_ = 7;
};

}  // namespace

trace::RunUpdate demoRun(const DemoOptions& options) { return Simulation(options).run(); }

base::Status writeDemoRun(const std::filesystem::path& path, const DemoOptions& options) {
  return writeRun(path, demoRun(options));
}

base::Status writeRun(const std::filesystem::path& path, const trace::RunUpdate& run,
                      const std::function<void(trace::RunFileWriter&)>& more) {
  auto created = trace::RunFileWriter::create(path);
  if (!created.ok()) {
    return created.error();
  }
  trace::RunFileWriter& file = *created.value();
  file.setInfo(*run.info);
  for (const auto& rank : *run.ranks) {
    file.setRank(rank);
  }
  for (const auto& track : *run.tracks) {
    file.addTrack(track);
  }
  file.setParameters({*run.parameters});
  for (const auto& layout : *run.layouts) {
    file.addLayout(layout);
  }
  file.addClock(*run.clock);
  for (const trace::SpanRow& span : run.spans) {
    trace::Event event;
    event.startTicks = span.startTicks;
    event.durationTicks = span.durationTicks & 0xFFFF'FFFF'FFFF;
    event.kind = static_cast<std::uint16_t>(span.kind);
    event.step = span.step;
    event.bucket = span.bucket;
    event.detail = span.detail;
    event.value = span.value;
    file.addEvent(span.track, event);
  }
  for (const trace::MetricRow& metric : run.metrics) {
    file.addMetric(metric);
  }
  if (more) {
    more(file);
  }
  return file.finish();
}

}  // namespace lockstep::ui::test
