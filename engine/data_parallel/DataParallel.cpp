#include "engine/data_parallel/DataParallel.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <mutex>

#include "engine/base/Log.h"
#include "engine/data_parallel/DataParallelError.h"
#include "engine/data_parallel/ReplicaBackward.h"
#include "engine/data_parallel/ScatterGather.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"

namespace lockstep::data_parallel {

using trace::EventKind;

namespace {

/// Puts the CPU's generator back to where it was.
class KeepGenerator {
 public:
  KeepGenerator() {
    std::lock_guard lock(generator_.mutex());
    state_ = generator_.get_state();
  }
  ~KeepGenerator() {
    std::lock_guard lock(generator_.mutex());
    generator_.set_state(state_);
  }
  KeepGenerator(const KeepGenerator&) = delete;
  KeepGenerator& operator=(const KeepGenerator&) = delete;

 private:
  at::Generator generator_ = at::detail::getDefaultCPUGenerator();
  at::Tensor state_;
};

bool takesGradient(const GatheredTensor& output) {
  for (const at::Tensor& part : output.parts) {
    if (part.defined() && part.requires_grad()) {
      return true;
    }
  }
  return false;
}

}  // namespace

// Note [A step on several devices]
//
//   caller's thread             device 0        device 1
//   scatter the batch
//   refresh the replicas        (shares memory) (copied)
//   ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▶     forward         forward        threads made for this
//   gather the outputs
//   loss, backward() reaches ReplicaBackward
//   scatter their gradient
//   ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▶     backward        backward
//   sum the gradients on device 0, into the module's parameters
//
// All but the rows with arrows happens on one thread, one thing after the other. That is what makes
// it slow: DistributedDataParallel copies nothing in the forward, and reduces while the backward
// still runs.
DataParallel::DataParallel(std::shared_ptr<torch::nn::Module> module, DataParallelOptions options)
    : module_(std::move(module)),
      options_(std::move(options)),
      silent_(std::make_shared<trace::Tracer>()),
      tracer_(options_.tracer != nullptr ? options_.tracer : silent_.get()) {
  const auto& devices = options_.devices;
  if (module_ == nullptr) {
    throw DataParallelError("DataParallel needs a module");
  }
  if (devices.empty()) {
    throw DataParallelError("DataParallel needs at least one device");
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (devices[i].isSameAs(devices[j])) {
        throw DataParallelError(
            fmt::format("device {} stands twice in the list of devices", devices[i].name()));
      }
    }
  }
  if (const auto text = imbalance(devices)) {
    warn(*text);
  }
  lane_ = options_.lane != nullptr ? options_.lane : &tracer_->lane("data parallel");
  where_.devices = devices;
  // No replicas, threads or copies: the module itself runs, as in PyTorch.
  if (devices.size() == 1) {
    module_->to(devices.front().place);
    return;
  }
  checkPlace(stateOf(*module_));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    where_.lanes.push_back(&tracer_->lane(fmt::format("device {}", i)));
  }
  pool_ = std::make_shared<ReplicaPool>([this] {
    return std::make_unique<ReplicaSet>(
        *module_, [this](const Device& device) { return makeReplica(device); }, where_.devices,
        options_.coalesceBytes);
  });
  pool_->borrow();  // a module that cannot be replicated is to fail here
}

DataParallel::~DataParallel() = default;

Tree DataParallel::run(const Tree& input, const Body& body) {
  if (where_.devices.size() == 1) {
    return body(*module_, input);
  }
  auto& words = tracer_->lastWords();
  const auto phase = [&](EventKind kind) {
    const std::uint64_t now = base::ticks();
    words.step.store(step_, std::memory_order_relaxed);
    words.phase.store(static_cast<std::uint16_t>(kind), std::memory_order_relaxed);
    words.sinceTicks.store(now, std::memory_order_relaxed);
    return now;
  };
  const std::uint16_t outerPhase = words.phase.load(std::memory_order_relaxed);
  Applied applied;
  applied.state = stateOf(*module_);
  checkPlace(applied.state);

  std::uint64_t startTicks = phase(EventKind::kScatter);
  Scattered scattered = scatter(input, where_.devices, options_.dim);
  lane_->span(EventKind::kScatter, startTicks, step_, trace::kNoBucket, scattered.bytes);
  // A small batch gives fewer pieces than there are devices: the rest have nothing to do.
  const std::size_t count = scattered.pieces.size();
  applied.where = firstDevices(count);

  startTicks = phase(EventKind::kReplicate);
  applied.replicas = pool_->borrow();
  const std::uint64_t copied = applied.replicas->refresh(*module_, applied.state, count);
  lane_->span(EventKind::kReplicate, startTicks, step_, trace::kNoBucket, copied);

  phase(EventKind::kParallelApply);
  std::vector<Tree> outputs(count);
  parallelApply(applied.where, count, Half::kForward, step_, [&](std::size_t replica) {
    outputs[replica] = body(applied.replicas->module(replica), scattered.pieces[replica]);
  });

  startTicks = phase(EventKind::kGather);
  applied.outputDevice = options_.outputDevice.value_or(where_.devices.front());
  Gathered gathered = gather(outputs, applied.where.devices, applied.outputDevice, options_.dim);
  lane_->span(EventKind::kGather, startTicks, step_, trace::kNoBucket, gathered.bytes);
  words.phase.store(outerPhase, std::memory_order_relaxed);

  std::vector<at::Tensor> wholes;
  std::vector<std::size_t> graded;
  for (auto& tensor : gathered.tensors) {
    if (tensor.fromScalars && !std::exchange(warnedOfScalars_, true)) {
      base::logWarning("DataParallel: a scalar output becomes a vector, one element a device");
    }
    // Only these get a place in the caller's graph; the others stay constants.
    if (c10::GradMode::is_enabled() && takesGradient(tensor)) {
      graded.push_back(wholes.size());
      applied.outputs.push_back(tensor);
    }
    wholes.push_back(std::move(tensor.whole));
  }
  if (!graded.empty()) {
    for (std::size_t k = 0; k < applied.state.size(); ++k) {
      if (applied.state[k].tensor.requires_grad()) {
        applied.trained.push_back(k);
      }
    }
    applied.inputs = std::move(scattered.tracked);
    applied.dim = options_.dim;
    applied.coalesceBytes = options_.coalesceBytes;
    applied.lane = lane_;
    applied.laneOwner = silent_;
    applied.step = step_;
    const auto connected = connect(std::move(applied));
    for (std::size_t i = 0; i < graded.size(); ++i) {
      wholes[graded[i]] = connected[i];
    }
  }
  std::size_t next = 0;
  return gathered.shape.mapTensors([&](const at::Tensor&) { return Tree(wholes[next++]); });
}

std::shared_ptr<torch::nn::Module> DataParallel::makeReplica(const Device& device) const {
  // The copy initialises its parameters at random before they are overwritten: without this, a run
  // on two devices would draw other numbers than one on one.
  const KeepGenerator generator;
  if (options_.makeReplica) {
    return options_.makeReplica();
  }
  try {
    return module_->clone(device.place);
  } catch (const c10::Error& error) {
    throw DataParallelError(
        fmt::format("a replica cannot be cloned ({}); give DataParallelOptions::makeReplica",
                    error.what_without_backtrace()));
  }
}

DeviceLanes DataParallel::firstDevices(std::size_t count) const {
  const auto n = static_cast<std::ptrdiff_t>(count);
  return {{where_.devices.begin(), where_.devices.begin() + n},
          {where_.lanes.begin(), where_.lanes.begin() + n}};
}

void DataParallel::checkPlace(const std::vector<StateTensor>& state) const {
  const Device& first = options_.devices.front();
  for (const auto& [name, tensor] : state) {
    if (tensor.device() != first.place) {
      throw DataParallelError(fmt::format(
          "the module must have its parameters and buffers on device {}, the first of the devices, "
          "but '{}' is on {}; move the module there",
          first.place.str(), name, tensor.device().str()));
    }
  }
}

void DataParallel::warn(const std::string& text) const {
  base::logWarning("DataParallel: {}", text);
  tracer_->send(trace::toJson(trace::ProblemMessage{"warning", step_, "DataParallel: " + text}));
}

}  // namespace lockstep::data_parallel
