// Lockstep's side of the benchmarks of a training step: one rank, told by standard input when to
// run (RankProgram.h).
//
//   bench_ddp_step MODEL BATCH BACKEND [--view] [--record] [--cuda]
//   bench_ddp_step --backends        names those of this build, as a list in JSON
//
// MODEL is mlp, resnet18 or char_gpt, as in models.py. BACKEND "none" trains without DDP: ranks
// that do not communicate. With --cuda it trains on a GPU, and a step ends when its loss was read;
// BACKEND is of the CPU's tensors then. With --record the rank's events are drained to a file that
// is thrown away, in its turns and on its own cores; without, nothing is emitted. A turn is
// "go STEPS [capture-off]" and answers the times of its steps.

#include <torch/torch.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "engine/device/DeviceSpans.h"
#include "engine/trace/Event.h"
#include "engine/trace/EventCost.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/Segment.h"
#include "engine/trace/Tracer.h"
#include "engine/train/ComputeDevice.h"
#include "engine/train/models/CharGpt.h"
#include "engine/train/models/Mlp.h"
#include "engine/train/models/PictureModels.h"
#include "tests/bench/RankProgram.h"

namespace lockstep::bench {
namespace {

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kVocabulary = 62;  // characters of the text in resources/datasets
constexpr std::int64_t kContext = 64;

struct Work {
  std::shared_ptr<train::Model> model;
  at::Tensor inputs;
  at::Tensor targets;
};

/// The same weights and data on every rank, and, by the same seed, in ddp_step_peer.py.
Work makeWork(const std::string& model, std::int64_t batch) {
  torch::manual_seed(0);
  Work work;
  if (model == "mlp") {
    work.model =
        std::make_shared<train::Mlp>(std::vector<std::int64_t>{1024, 2048, 2048, 2048, kClasses});
    work.inputs = torch::randn({batch, 1024});
    work.targets = torch::randint(0, kClasses, {batch}, torch::kLong);
  } else if (model == "resnet18") {
    work.model = train::makeResNet18(3, kClasses);
    work.inputs = torch::randn({batch, 3, 32, 32});
    work.targets = torch::randint(0, kClasses, {batch}, torch::kLong);
  } else if (model == "char_gpt") {
    train::CharGpt::Options options;
    options.vocabulary = kVocabulary;
    options.context = kContext;
    work.model = std::make_shared<train::CharGpt>(options);
    work.inputs = torch::randint(0, kVocabulary, {batch, kContext}, torch::kLong);
    work.targets = torch::randint(0, kVocabulary, {batch, kContext}, torch::kLong);
  } else {
    throw std::runtime_error("no model " + model + "; there are mlp, resnet18 and char_gpt");
  }
  return work;
}

template <typename T>
T valueOf(base::Result<T> result) {
  if (!result.ok()) {
    throw std::runtime_error(result.error().message());
  }
  return std::move(result).value();
}

/// A rank's event memory, and during turns a recorder that drains it.
class Recording {
 public:
  explicit Recording(int rank)
      : mine_(valueOf(trace::Segment::create({}))),
        tracer_(valueOf(trace::Segment::attach(dup(mine_.fd())))),
        path_(std::filesystem::temp_directory_path() /
              ("bench-" + std::to_string(getpid()) + "-" + std::to_string(rank) + ".lockstep")) {}
  ~Recording() { end(); }

  trace::Tracer& tracer() { return tracer_; }

  void begin(bool capture) {
    trace::RunInfo info;
    info.worldSize = 1;
    recorder_ = trace::Recorder::start(valueOf(trace::RunFileWriter::create(path_)), info, {&mine_},
                                       {std::chrono::milliseconds(20)});
    mine_.header().captureEnabled.store(capture ? 1 : 0);
  }
  void end() {
    mine_.header().captureEnabled.store(0);
    recorder_.reset();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::uint64_t written() const { return count(&trace::LaneHeader::head); }
  std::uint64_t dropped() const { return count(&trace::LaneHeader::dropped); }

 private:
  std::uint64_t count(std::atomic<std::uint64_t> trace::LaneHeader::*member) const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < mine_.header().lanesInUse.load(); ++i) {
      sum += (mine_.lane(i).*member).load();
    }
    return sum;
  }

  trace::Segment mine_;
  trace::Tracer tracer_;
  std::filesystem::path path_;
  std::unique_ptr<trace::Recorder> recorder_;
};

/// The steps of one rank, with DDP or alone.
class Training {
 public:
  Training(Work work, std::shared_ptr<process_group::ProcessGroup> group, bool view,
           trace::Tracer* tracer)
      : work_(std::move(work)),
        parameters_(work_.model->parameters()),
        optimizer_(parameters_, torch::optim::SGDOptions(0.01).momentum(0.9)),
        lane_((tracer == nullptr ? silent_ : *tracer).lane("step")),
        spans_(tracer == nullptr ? nullptr : makeSpans()) {
    if (group != nullptr) {
      ddp::DdpOptions options;
      options.tracer = tracer;
      options.gradientAsBucketView = view;
      options.deviceSpans = tracer == nullptr ? nullptr : makeSpans();
      ddp_ = std::make_unique<ddp::DistributedDataParallel>(work_.model, std::move(group), options);
    }
  }

  /// Returns how long it took, in ms: on a GPU until the loss was read.
  double step() {
    const std::int64_t start = base::monotonicNs();
    {
      trace::ScopedSpan whole(lane_, trace::EventKind::kStep, number_);
      for (at::Tensor& parameter : parameters_) {
        parameter.mutable_grad().reset();
      }
      at::Tensor loss;
      phase(trace::EventKind::kForward,
            [&] { loss = work_.model->loss(forward(), work_.targets); });
      phase(trace::EventKind::kBackward, [&] { loss.backward(); });
      phase(trace::EventKind::kOptimizer, [&] { optimizer_.step(); });
      if (spans_ != nullptr) {
        spans_->write();
      }
      if (!loss.is_cpu()) {
        (void)loss.item<double>();
      }
    }
    ++number_;
    return static_cast<double>(base::monotonicNs() - start) / 1e6;
  }

 private:
  using Spans = device::DeviceSpans;

  std::unique_ptr<Spans> makeSpans() const {
    return device::makeDeviceSpans(train::deviceOf(parameters_));
  }

  /// By the clock of what computes, as a rank of a run records it.
  template <typename Body>
  void phase(trace::EventKind kind, const Body& body) {
    if (spans_ == nullptr) {
      trace::ScopedSpan span(lane_, kind, number_);
      body();
      return;
    }
    const Spans::Point begin = spans_->now();
    body();
    spans_->add(lane_, kind, begin, spans_->now(), number_);
  }

  at::Tensor forward() {
    if (ddp_ == nullptr) {
      return work_.model->forward(work_.inputs);
    }
    ddp_->setStep(number_);
    return ddp_->forward<train::Model>(work_.inputs);
  }

  Work work_;
  std::vector<at::Tensor> parameters_;
  torch::optim::SGD optimizer_;
  trace::Tracer silent_;
  trace::Lane& lane_;
  const std::unique_ptr<Spans> spans_;  // null: the host computes, or nobody listens
  std::unique_ptr<ddp::DistributedDataParallel> ddp_;
  std::uint32_t number_ = 0;
};

struct Flags {
  bool view = false;
  bool record = false;
  bool cuda = false;
};

void run(const std::string& model, std::int64_t batch, const std::string& backend,
         const Flags& flags) {
  const Place place = placeFromEnvironment();
  const bool record = flags.record;
  const std::string kind = flags.cuda ? "cuda" : "cpu";
  const at::Device device = valueOf(train::chooseDevice(kind, place.rank));
  std::unique_ptr<Recording> recording;
  process_group::GroupOptions options;
  if (record) {
    recording = std::make_unique<Recording>(place.rank);
    options.tracer = &recording->tracer();
  }
  Work work = makeWork(model, batch);
  work.model->to(device);
  work.inputs = work.inputs.to(device);
  work.targets = work.targets.to(device);
  double loss = 0;
  {
    at::NoGradGuard noGrad;
    loss = work.model->loss(work.model->forward(work.inputs), work.targets).item<double>();
  }
  Training training(std::move(work), backend == "none"
                        ? nullptr
                        : meet(place, train::backendFor(backend, kind), options),
                    flags.view, options.tracer);
  takeTurns({{"loss", loss}}, [&](int steps, std::istringstream& words) {
    std::string capture;
    words >> capture;
    if (record) {
      recording->begin(capture != "capture-off");
    }
    const std::uint64_t before = record ? recording->written() : 0;
    std::vector<double> times;
    for (int i = 0; i < steps; ++i) {
      times.push_back(training.step());
    }
    nlohmann::json answer{{"step_ms", times}};
    if (record) {
      answer["events_per_step"] = static_cast<double>(recording->written() - before) / steps;
      answer["dropped"] = recording->dropped();
      recording->end();
      answer["event_ns"] = trace::eventCostNs();
    }
    return answer;
  });
}

void start(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--backends"}) {
    std::cout << nlohmann::json(process_group::availableBackends()).dump() << std::endl;
    return;
  }
  Flags flags;
  std::size_t known = 0;
  for (std::size_t i = 3; i < words.size(); ++i) {
    for (auto [word, flag] : {std::pair("--view", &flags.view), {"--record", &flags.record},
                              {"--cuda", &flags.cuda}}) {
      known += words[i] == word && !std::exchange(*flag, true) ? 1 : 0;
    }
  }
  if (words.size() < 3 || known != words.size() - 3) {
    throw std::runtime_error(
        "usage: bench_ddp_step MODEL BATCH BACKEND [--view] [--record] [--cuda]");
  }
  run(words[0], std::stoll(words[1]), words[2], flags);
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  return lockstep::bench::runRank("bench_ddp_step", [&] {
    lockstep::bench::start({argv + 1, argv + argc});
  });
}
