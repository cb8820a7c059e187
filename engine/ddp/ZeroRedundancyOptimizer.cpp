#include "engine/ddp/ZeroRedundancyOptimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/GatherAll.h"
#include "engine/ddp/Handshake.h"
#include "engine/ddp/TensorText.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

namespace {

std::vector<std::int64_t> elementsOf(const std::vector<NamedTensor>& parameters) {
  std::vector<std::int64_t> elements;
  for (const NamedTensor& parameter : parameters) {
    elements.push_back(parameter.tensor.numel());
  }
  return elements;
}

std::vector<Fact> describeAll(const std::vector<NamedTensor>& parameters,
                              const experiment::OptimizerConfig& config) {
  std::vector<Fact> facts;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    facts.push_back(
        {"parameter",
         fmt::format("{}, {}", quoted(parameters[i].name, i), describe(parameters[i].tensor)), i});
  }
  facts.push_back(
      {"optimizer",
       fmt::format("{}, learning rate {}, momentum {}, dampening {}, nesterov {}, weight decay {}, "
                   "betas {} and {}, epsilon {}",
                   config.kind, config.learningRate, config.momentum, config.dampening,
                   config.nesterov, config.weightDecay, config.beta1, config.beta2,
                   config.epsilon)});
  return facts;
}

}  // namespace

std::vector<int> partitionParameters(const std::vector<std::int64_t>& elements, int ranks) {
  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return elements[a] > elements[b]; });
  std::vector<std::int64_t> loads(static_cast<std::size_t>(ranks), 0);
  std::vector<int> owners(elements.size(), 0);
  for (const std::size_t index : order) {
    // min_element returns the first of several: the lowest rank, on every rank alike.
    const auto least = std::min_element(loads.begin(), loads.end());
    owners[index] = static_cast<int>(least - loads.begin());
    *least += elements[index];
  }
  return owners;
}

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(std::vector<NamedTensor> parameters,
                                                 std::shared_ptr<process_group::ProcessGroup> group,
                                                 const experiment::OptimizerConfig& config,
                                                 trace::Tracer* tracer)
    : parameters_(std::move(parameters)),
      group_(std::move(group)),
      owned_(static_cast<std::size_t>(group_->size())),
      ownTracer_(tracer == nullptr ? std::make_unique<trace::Tracer>() : nullptr),
      lane_(&(tracer == nullptr ? *ownTracer_ : *tracer).lane("zero")) {
  checkParameters();
  owners_ = partitionParameters(elementsOf(parameters_), group_->size());
  std::vector<at::Tensor> own;
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    owned_[static_cast<std::size_t>(owners_[i])].push_back(i);
    if (owners_[i] == group_->rank()) {
      own.push_back(parameters_[i].tensor);
    }
  }
  auto made = optim::ParameterOptimizer::make(config, std::move(own));
  if (!made.ok()) {
    throw DdpError(made.error().message());
  }
  optimizer_ = std::move(made).value();
  verifySameOnAllRanks(*group_, describeAll(parameters_, config));
}

void ZeroRedundancyOptimizer::checkParameters() const {
  if (parameters_.empty()) {
    throw DdpError("ZeroRedundancyOptimizer was given no parameters");
  }
  const at::Tensor& first = parameters_.front().tensor;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    if (tensor.layout() != c10::kStrided) {
      throw DdpError(fmt::format("parameter {} is sparse; ZeroRedundancyOptimizer takes dense ones",
                                 quoted(name, i)));
    }
    if (tensor.scalar_type() != first.scalar_type() || tensor.device() != first.device()) {
      throw DdpError(fmt::format(
          "parameter {} is {} on {} and {} is {} on {}; ZeroRedundancyOptimizer takes parameters "
          "of "
          "one dtype and device",
          quoted(parameters_.front().name, 0), dtypeName(first.scalar_type()), first.device().str(),
          quoted(name, i), dtypeName(tensor.scalar_type()), tensor.device().str()));
    }
  }
}

at::Device ZeroRedundancyOptimizer::joinDevice() const {
  return parameters_.front().tensor.device();
}

process_group::CallOptions ZeroRedundancyOptimizer::callOptions() const {
  process_group::CallOptions options;
  options.step = step_;
  return options;
}

void ZeroRedundancyOptimizer::step() {
  notifyJoin(step_);
  // Outside a Join every owner has the averages in its own parameters already.
  if (joining()) {
    passGradients(true);
  }
  stepOwn();
  handOut();
}

void ZeroRedundancyOptimizer::shadow(std::uint32_t step) {
  step_ = step;
  passGradients(false);
  stepOwn();
  handOut();
}

void ZeroRedundancyOptimizer::passGradients(bool live) {
  at::NoGradGuard noGrad;
  // Every rank tells whether it is live and which gradients it has.
  std::vector<std::int32_t> own{live ? 1 : 0};
  for (const NamedTensor& parameter : parameters_) {
    own.push_back(live && parameter.tensor.grad().defined() ? 1 : 0);
  }
  const at::Tensor flags = at::tensor(own, at::kInt).to(joinDevice());
  const at::Tensor all = gatherAll(*group_, flags, callOptions()).cpu();
  const auto flag = [&](int rank, std::int64_t column) {
    return all[rank][column].item<std::int32_t>() != 0;
  };
  // All live ranks hold the same averages; one must be chosen alike on all ranks.
  int source = group_->size() - 1;
  while (source >= 0 && !flag(source, 0)) {
    --source;
  }
  // Owners without inputs got no gradients, as DistributedDataParallel's shadow drops them.
  for (int owner = 0; source >= 0 && owner < group_->size(); ++owner) {
    if (flag(owner, 0)) {
      continue;
    }
    std::vector<at::Tensor> tensors;
    for (const std::size_t index : owned_[static_cast<std::size_t>(owner)]) {
      const at::Tensor& parameter = parameters_[index].tensor;
      at::Tensor& gradient = parameter.mutable_grad();
      const bool exists = flag(source, static_cast<std::int64_t>(index) + 1);
      if (owner == group_->rank()) {
        gradient = exists ? at::empty_like(parameter, at::MemoryFormat::Preserve) : at::Tensor();
      }
      if (exists) {
        // Others than the two take part in the broadcast, but have no use for it.
        tensors.push_back(owner == group_->rank() || source == group_->rank()
                              ? gradient
                              : at::empty_like(parameter, at::MemoryFormat::Preserve));
      }
    }
    if (!tensors.empty()) {
      group_->broadcast(std::move(tensors), source, callOptions())->wait();
    }
  }
}

void ZeroRedundancyOptimizer::stepOwn() {
  const auto& own = owned_[static_cast<std::size_t>(group_->rank())];
  for (std::size_t slot = 0; slot < own.size(); ++slot) {
    const auto& [name, parameter] = parameters_[own[slot]];
    const at::Tensor& gradient = parameter.grad();
    // As PyTorch's optimizers: its state does not age either.
    if (!gradient.defined()) {
      continue;
    }
    if (gradient.layout() != c10::kStrided || gradient.sizes() != parameter.sizes() ||
        gradient.scalar_type() != parameter.scalar_type()) {
      throw DdpError(fmt::format(
          "rank {}: the gradient of parameter {} is {}{}; the parameter is {}", group_->rank(),
          quoted(name, own[slot]), gradient.layout() == c10::kStrided ? "" : "sparse ",
          describe(gradient), describe(parameter)));
    }
    optimizer_->step(slot, gradient);
  }
}

void ZeroRedundancyOptimizer::handOut() {
  at::NoGradGuard noGrad;
  const std::uint64_t startTicks = base::ticks();
  std::uint64_t bytes = 0;
  std::vector<process_group::ProcessGroup::WorkPtr> works;
  for (int owner = 0; owner < group_->size(); ++owner) {
    std::vector<at::Tensor> tensors;
    for (const std::size_t index : owned_[static_cast<std::size_t>(owner)]) {
      tensors.push_back(parameters_[index].tensor.detach());
      bytes += tensors.back().nbytes();
    }
    // All are started before the first is awaited: the ranks send at the same time.
    if (!tensors.empty()) {
      works.push_back(group_->broadcast(std::move(tensors), owner, callOptions()));
    }
  }
  for (const auto& work : works) {
    work->wait();
  }
  lane_->span(trace::EventKind::kZeroBroadcast, startTicks, step_, trace::kNoBucket, bytes);
}

void ZeroRedundancyOptimizer::zeroGrad() {
  for (const NamedTensor& parameter : parameters_) {
    at::Tensor& gradient = parameter.tensor.mutable_grad();
    if (gradient.defined()) {
      // As PyTorch's zero_grad(): a gradient of a create_graph backward would keep its graph.
      gradient.detach_();
      gradient.zero_();
    }
  }
}

}  // namespace lockstep::ddp
