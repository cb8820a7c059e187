// Lockstep's side of the ddp_step and tracing benchmarks: one rank, told by standard input when
// to run. "go STEPS [capture-on|capture-off]" is answered by one line of JSON. Every rank records
// its own events to a file that is thrown away, so that the cost of draining and writing falls
// on the same cores as the training.

#include <torch/torch.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/TCPStore.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/Segment.h"
#include "engine/trace/Tracer.h"

namespace lockstep {
namespace {

constexpr std::int64_t kBatch = 64;
constexpr std::array<std::int64_t, 5> kLayers{1024, 2048, 2048, 2048, 10};

class Mlp : public torch::nn::Module {
 public:
  Mlp() {
    for (std::size_t i = 0; i + 1 < kLayers.size(); ++i) {
      layers_.push_back(register_module("layer" + std::to_string(i),
                                        torch::nn::Linear(kLayers[i], kLayers[i + 1])));
    }
  }
  torch::Tensor forward(torch::Tensor x) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->forward(x);
      if (i + 1 < layers_.size()) {
        x = torch::relu(x);
      }
    }
    return x;
  }

 private:
  std::vector<torch::nn::Linear> layers_;
};

int environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw std::runtime_error(std::string(name) + " is not set");
  }
  return std::stoi(value);
}

/// A rank's event memory with a recorder that drains it.
class Recording {
 public:
  explicit Recording(int rank) {
    auto segment = trace::Segment::create({});
    if (!segment.ok()) {
      throw std::runtime_error(segment.error().message());
    }
    mine_ = std::make_unique<trace::Segment>(std::move(segment).value());
    auto theirs = trace::Segment::attach(dup(mine_->fd()));
    if (!theirs.ok()) {
      throw std::runtime_error(theirs.error().message());
    }
    tracer_ = std::make_unique<trace::Tracer>(std::move(theirs).value());
    path_ = std::filesystem::temp_directory_path() /
            ("bench-" + std::to_string(getpid()) + "-" + std::to_string(rank) + ".lockstep");
    auto writer = trace::RunFileWriter::create(path_);
    if (!writer.ok()) {
      throw std::runtime_error(writer.error().message());
    }
    trace::RunInfo info;
    info.worldSize = 1;
    recorder_ = trace::Recorder::start(std::move(writer).value(), info, {mine_.get()},
                                       std::chrono::milliseconds(20));
  }
  ~Recording() {
    (void)recorder_->finish();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  trace::Tracer& tracer() { return *tracer_; }
  void capture(bool on) { mine_->header().captureEnabled.store(on ? 1 : 0); }
  std::uint64_t written() const { return count(&trace::LaneHeader::head); }
  std::uint64_t dropped() const { return count(&trace::LaneHeader::dropped); }

 private:
  std::uint64_t count(std::atomic<std::uint64_t> trace::LaneHeader::*member) const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < mine_->header().lanesInUse.load(); ++i) {
      sum += (mine_->lane(i).*member).load();
    }
    return sum;
  }

  std::unique_ptr<trace::Segment> mine_;
  std::unique_ptr<trace::Tracer> tracer_;
  std::unique_ptr<trace::Recorder> recorder_;
  std::filesystem::path path_;
};

/// Median cost of one Lane::span into a ring that is never full.
double measureEventNs() {
  auto segment = trace::Segment::create({.lanes = 1, .eventsPerLane = 1u << 16});
  trace::Tracer tracer(std::move(segment).value());
  trace::Lane& lane = tracer.lane("measured");
  const auto first = base::readClock();
  constexpr int kEvents = 60'000;
  for (int i = 0; i < kEvents; ++i) {
    lane.span(trace::EventKind::kForward, first.ticks, 0);
  }
  return static_cast<double>(base::readClock().ns - first.ns) / kEvents;
}

int run() {
  at::set_num_threads(1);
  const int rank = environment("RANK");
  const int size = environment("WORLD_SIZE");
  store::TCPStoreOptions storeOptions;
  storeOptions.port = static_cast<std::uint16_t>(environment("MASTER_PORT"));
  storeOptions.isServer = rank == 0;
  storeOptions.timeout = std::chrono::seconds(30);
  auto store = std::make_shared<store::TCPStore>("127.0.0.1", storeOptions);

  Recording recording(rank);
  process_group::GroupOptions groupOptions;
  groupOptions.timeout = std::chrono::seconds(30);
  groupOptions.tracer = &recording.tracer();
  auto group = process_group::makeProcessGroup("gloo", store, rank, size, groupOptions);
  if (!group.ok()) {
    throw std::runtime_error(group.error().message());
  }

  torch::manual_seed(0);
  auto model = std::make_shared<Mlp>();
  ddp::DdpOptions ddpOptions;
  ddpOptions.tracer = &recording.tracer();
  ddp::DistributedDataParallel ddp(model, std::move(group).value(), ddpOptions);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  const auto inputs = torch::randn({kBatch, kLayers.front()});
  const auto labels = torch::randint(0, kLayers.back(), {kBatch}, torch::kLong);
  trace::Lane& lane = recording.tracer().lane("step");
  const double eventNs = measureEventNs();
  std::cout << nlohmann::json{{"ready", true}}.dump() << std::endl;

  std::uint32_t step = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string go, capture;
    int steps = 0;
    words >> go >> steps >> capture;
    recording.capture(capture != "capture-off");
    const std::uint64_t before = recording.written();
    std::vector<double> times;
    for (int i = 0; i < steps; ++i, ++step) {
      const std::int64_t start = base::monotonicNs();
      {
        trace::ScopedSpan whole(lane, trace::EventKind::kStep, step);
        ddp.setStep(step);
        optimizer.zero_grad();
        torch::Tensor loss;
        {
          trace::ScopedSpan span(lane, trace::EventKind::kForward, step);
          loss = torch::nn::functional::cross_entropy(ddp.forward<Mlp>(inputs), labels);
        }
        {
          trace::ScopedSpan span(lane, trace::EventKind::kBackward, step);
          loss.backward();
        }
        trace::ScopedSpan span(lane, trace::EventKind::kOptimizer, step);
        optimizer.step();
      }
      times.push_back(static_cast<double>(base::monotonicNs() - start) / 1e6);
    }
    std::cout << nlohmann::json{{"step_ms", times},
                                {"events_per_step",
                                 static_cast<double>(recording.written() - before) / steps},
                                {"event_ns", eventNs},
                                {"dropped", recording.dropped()}}
                     .dump()
              << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace lockstep

int main() {
  try {
    return lockstep::run();
  } catch (const std::exception& error) {
    std::cerr << "bench_ddp_step: " << error.what() << "\n";
    return 1;
  }
}
