#include "engine/train/faults/FaultInjector.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/Log.h"
#include "engine/trace/Event.h"

namespace lockstep::train {

using experiment::FaultConfig;
using trace::FaultKind;

namespace {

bool happensIn(const FaultConfig& fault, std::uint32_t step) {
  const auto now = static_cast<std::int64_t>(step);
  if (fault.step) {
    return now == *fault.step;
  }
  return now >= fault.from && now <= fault.to.value_or(now) &&
         (now - fault.from) % fault.every == 0;
}

bool belongsTo(const std::string& parameter, const std::string& layer) {
  return parameter == layer || parameter.starts_with(layer + ".");
}

/// One line for the log of the rank: a person who reads it learns that this was on purpose.
void say(const FaultConfig& fault, std::uint32_t step, const std::string& what) {
  base::logInfo("fault of the experiment: rank {} {} at step {}", fault.rank, what, step);
}

}  // namespace

// Shared with the hooks on tensors, which autograd keeps as long as the parameters live, and with
// the hook around buckets; each may outlive the injector. step_ is atomic and the lane has a lock,
// since these may run on threads of autograd.
class FaultInjector::State {
 public:
  State(std::vector<FaultConfig> faults, std::vector<std::size_t> places, std::int64_t seed,
        trace::Tracer& tracer)
      : faults_(std::move(faults)), places_(std::move(places)), seed_(seed), tracer_(tracer) {}

  struct Target {
    at::Tensor parameter;
    std::uint64_t index = 0;  ///< by registration
  };

  void delay(std::size_t number, std::uint16_t bucket = trace::kNoBucket) {
    const FaultConfig& fault = faults_[number];
    const std::uint32_t step = this->step();
    // A generator of its own for each delay: what else draws random numbers changes nothing.
    std::mt19937_64 random(static_cast<std::uint64_t>(seed_) ^ (places_[number] + 1) << 48 ^ step);
    const double part =
        std::uniform_real_distribution<double>(-1, 1)(random) * fault.jitterMs + fault.milliseconds;
    const auto wanted =
        std::chrono::nanoseconds(static_cast<std::int64_t>(std::max(part, 0.0) * 1e6));
    const std::uint64_t start = base::ticks();
    std::this_thread::sleep_for(wanted);
    span(FaultKind::kDelay, start, static_cast<std::uint64_t>(wanted.count()), bucket);
  }

  void span(FaultKind kind, std::uint64_t startTicks, std::uint64_t value, std::uint16_t bucket) {
    std::lock_guard lock(laneMutex_);
    lane().span(trace::EventKind::kFault, startTicks, step(), bucket, value,
                static_cast<std::uint16_t>(kind));
  }

  void instant(FaultKind kind, std::uint64_t value) {
    std::lock_guard lock(laneMutex_);
    lane().instant(trace::EventKind::kFault, step(), trace::kNoBucket, value,
                   static_cast<std::uint16_t>(kind));
  }

  [[nodiscard]] std::uint32_t step() const { return step_.load(std::memory_order_relaxed); }
  void setStep(std::uint32_t step) { step_.store(step, std::memory_order_relaxed); }

  [[nodiscard]] const std::vector<FaultConfig>& faults() const { return faults_; }
  std::vector<Target>& targets() { return targets_; }

 private:
  /// Made with the first event; under laneMutex_, whose holders take turns on it.
  trace::Lane& lane() {
    if (lane_ == nullptr) {
      lane_ = &tracer_.lane("faults");
    }
    return *lane_;
  }

  const std::vector<FaultConfig> faults_;
  const std::vector<std::size_t> places_;  // of each in the file
  const std::int64_t seed_;
  trace::Tracer& tracer_;
  std::atomic<std::uint32_t> step_{0};
  std::mutex laneMutex_;
  trace::Lane* lane_ = nullptr;
  std::vector<Target> targets_;  // of each fault; undefined where it names none
};

namespace {

/// Holds up the backward before the buckets that faults name.
class DelayingHook final : public hooks::CommHook {
 public:
  using Delay = std::function<void(std::size_t bucket)>;
  DelayingHook(std::shared_ptr<hooks::CommHook> inner, Delay delay)
      : inner_(std::move(inner)), delay_(std::move(delay)) {}

  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] bool takesShares() const override { return inner_->takesShares(); }
  [[nodiscard]] bool writesParameters() const override { return inner_->writesParameters(); }
  base::Future<at::Tensor> run(hooks::GradBucket& bucket) override {
    delay_(bucket.index());
    return inner_->run(bucket);
  }
  [[nodiscard]] std::string inside() const override { return inner_->inside(); }

 private:
  const std::shared_ptr<hooks::CommHook> inner_;
  const Delay delay_;
};

base::Error unknown(const std::string& key, const std::string& name,
                    const std::vector<ddp::NamedTensor>& parameters) {
  std::string names;
  for (std::size_t i = 0; i < parameters.size() && i < 8; ++i) {
    names += (i == 0 ? "" : ", ") + parameters[i].name;
  }
  return {base::ExitCode::kBadInput,
          fmt::format("the model has no \"{}\"; its parameters are {}{}", name, names,
                      parameters.size() > 8 ? ", ..." : ""),
          key};
}

void flip(at::Tensor& parameter, std::int64_t element, std::int64_t bit) {
  const at::Tensor values = parameter.cpu();  // itself, unless it is on another device
  auto* bytes = static_cast<std::uint8_t*>(values.data_ptr()) +
                element * static_cast<std::int64_t>(values.element_size());
  // Little-endian: bit 31 of a float is its sign.
  bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
  if (!values.is_same(parameter)) {
    parameter.copy_(values);
  }
}

}  // namespace

FaultInjector::FaultInjector(const experiment::Experiment& experiment, int rank,
                             trace::Tracer& tracer)
    : state_([&] {
        std::vector<FaultConfig> own;
        std::vector<std::size_t> places;
        for (std::size_t place = 0; place < experiment.faults.size(); ++place) {
          if (experiment.faults[place].rank == rank) {
            own.push_back(experiment.faults[place]);
            places.push_back(place);
          }
        }
        return std::make_shared<State>(std::move(own), std::move(places), experiment.train.seed,
                                       tracer);
      }()) {}

FaultInjector::~FaultInjector() {
  state_->targets().clear();  // their hooks own the state, which must not own them for ever
}

std::shared_ptr<hooks::CommHook> FaultInjector::around(std::shared_ptr<hooks::CommHook> hook) {
  const auto& faults = state_->faults();
  if (std::none_of(faults.begin(), faults.end(),
                   [](const FaultConfig& fault) { return fault.bucket.has_value(); })) {
    return hook;
  }
  return std::make_shared<DelayingHook>(std::move(hook), [state = state_](std::size_t bucket) {
    for (std::size_t i = 0; i < state->faults().size(); ++i) {
      const FaultConfig& fault = state->faults()[i];
      if (fault.bucket == static_cast<std::int64_t>(bucket) && happensIn(fault, state->step())) {
        state->delay(i, static_cast<std::uint16_t>(bucket));
      }
    }
  });
}

base::Status FaultInjector::watch(const std::vector<ddp::NamedTensor>& parameters) {
  state_->targets().resize(state_->faults().size());
  for (std::size_t i = 0; i < state_->faults().size(); ++i) {
    const FaultConfig& fault = state_->faults()[i];
    const bool delaysLayer = fault.kind == "delay" && !fault.layer.empty();
    const bool changesData = fault.kind == "flip_bit" || fault.kind == "nan";
    if (!delaysLayer && !changesData) {
      continue;
    }
    const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const auto& named) {
      // Its first parameter by registration stands for a layer.
      return delaysLayer ? belongsTo(named.name, fault.layer) : named.name == fault.parameter;
    });
    if (found == parameters.end()) {
      return unknown(delaysLayer ? "faults.layer" : "faults.parameter",
                     delaysLayer ? fault.layer : fault.parameter, parameters);
    }
    const at::Tensor& parameter = found->tensor;
    State::Target& target = state_->targets()[i];
    target = {parameter, static_cast<std::uint64_t>(found - parameters.begin())};
    if (changesData && fault.element >= parameter.numel()) {
      return base::Error{base::ExitCode::kBadInput,
                         fmt::format("{} is beyond the {} elements of {}", fault.element,
                                     parameter.numel(), found->name),
                         "faults.element"};
    }
    if (changesData && !parameter.is_contiguous()) {
      return base::Error{base::ExitCode::kBadInput,
                         fmt::format("{} is not contiguous in memory", found->name),
                         "faults.parameter"};
    }
    const auto bits = static_cast<std::int64_t>(parameter.element_size()) * 8;
    if (fault.kind == "flip_bit" && fault.bit >= bits) {
      return base::Error{
          base::ExitCode::kBadInput,
          fmt::format("{} has {} bits an element, 0 to {}", found->name, bits, bits - 1),
          "faults.bit"};
    }
    // The hook holds up autograd's thread, as a slow layer would, before the gradient is
    // accumulated.
    if (delaysLayer) {
      parameter.register_hook([state = state_, i](const at::Tensor&) {
        if (happensIn(state->faults()[i], state->step())) {
          state->delay(i);
        }
      });
    } else if (fault.kind == "nan") {
      parameter.register_hook(
          [state = state_, i, index = target.index](const at::Tensor& gradient) {
            const FaultConfig& own = state->faults()[i];
            if (!happensIn(own, state->step())) {
              return gradient;
            }
            state->instant(FaultKind::kNan, index);
            say(own, state->step(), fmt::format("has a NaN in the gradient of {}", own.parameter));
            // Autograd may hand the same tensor to others.
            at::Tensor spoilt = gradient.clone(at::MemoryFormat::Contiguous);
            spoilt.view(-1)[own.element].fill_(std::numeric_limits<double>::quiet_NaN());
            return spoilt;
          });
    }
  }
  return {};
}

void FaultInjector::beginStep(std::uint32_t step) {
  state_->setStep(step);
  for (std::size_t i = 0; i < state_->faults().size(); ++i) {
    const FaultConfig& fault = state_->faults()[i];
    if (!happensIn(fault, step)) {
      continue;
    }
    if (fault.kind == "flip_bit") {
      State::Target& target = state_->targets()[i];
      flip(target.parameter, fault.element, fault.bit);
      state_->instant(FaultKind::kFlipBit,
                      target.index << 8 | static_cast<std::uint64_t>(fault.bit));
      say(fault, step, fmt::format("has bit {} of {} flipped", fault.bit, fault.parameter));
    } else if (fault.kind == "stop") {
      // Before the signal: after it nobody writes.
      state_->instant(FaultKind::kStop, 0);
      say(fault, step, "is stopped");
      ::raise(SIGSTOP);
    } else if (fault.kind == "kill") {
      state_->instant(FaultKind::kKill, 0);
      say(fault, step, "is killed");
      ::raise(SIGKILL);
    }
  }
}

void FaultInjector::inPhase(std::string_view phase) {
  for (std::size_t i = 0; i < state_->faults().size(); ++i) {
    const FaultConfig& fault = state_->faults()[i];
    if (fault.kind == "delay" && fault.phase == phase && fault.layer.empty() && !fault.bucket &&
        happensIn(fault, state_->step())) {
      state_->delay(i);
    }
  }
}

std::int64_t FaultInjector::samplesLeftOut() const {
  std::int64_t samples = 0;
  for (const FaultConfig& fault : state_->faults()) {
    samples += fault.kind == "uneven" ? fault.samples : 0;
  }
  return samples;
}

void FaultInjector::inputsEnded(std::uint32_t step) {
  state_->setStep(step);
  state_->instant(FaultKind::kUneven, static_cast<std::uint64_t>(samplesLeftOut()));
  for (const FaultConfig& fault : state_->faults()) {
    if (fault.kind == "uneven") {
      say(fault, step, "has no more inputs");
      return;  // several of them add up to one end
    }
  }
}

}  // namespace lockstep::train
