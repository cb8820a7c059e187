#include "engine/train/TrainLoop.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "engine/base/Log.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/ddp/GatherAll.h"
#include "engine/ddp/Join.h"
#include "engine/experiment/SettingChange.h"
#include "engine/hooks/HookError.h"
#include "engine/trace/CoreWait.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"
#include "engine/train/AgreementInJoin.h"
#include "engine/train/ComputeDevice.h"
#include "engine/train/Evaluate.h"
#include "engine/train/OptimizerState.h"

namespace lockstep::train {

using trace::EventKind;
using trace::ScopedSpan;

namespace {

DistributedSampler::Options samplingOf(const TrainParts& parts) {
  DistributedSampler::Options sampling;
  sampling.samples = parts.datasets.train->size();
  sampling.rank = parts.group.rank();
  sampling.worldSize = parts.group.size();
  sampling.shuffle = parts.experiment.data.shuffle;
  sampling.dropLast = parts.experiment.data.dropLast;
  sampling.seed = parts.experiment.train.seed;
  return sampling;
}

/// Samples of this process and step: as many devices as it has get a batch each.
std::int64_t batchSizeOf(const experiment::Experiment& experiment) {
  const auto& processes = experiment.processes;
  return experiment.data.batchSize *
         (processes.strategy == "data_parallel" ? processes.devices : 1);
}

}  // namespace

// Note [What a step does, and in which order]
//
//       strategy, faults, batch norm, hook    learn the step's number
//       seedStep                              dropout of this step is the same in a resumed run
//       batch, fingerprint                    parameters as they are before the forward
//       forward, loss
//       backward                              buckets are reduced meanwhile; it waits for the last
//       afterBackward                         complains of gradients that are not complete
//       optimizer, zero_grad                  only where the step synchronised
//       log                                   numbers of the hook and of c10d's Logger
//       loss.item()                           waits for a device
//       refuseBrokenGroup                     and only then the loss is believed
//
// Between steps that synchronised, and never inside an accumulation: evaluation by its own count,
// checkpoint, and the question of whether to stop or to change something (Note [Deciding
// together]). All ranks come to these after the same step, since each is, or may be, a collective.

TrainLoop::TrainLoop(TrainParts parts)
    : parts_(std::move(parts)),
      batches_(parts_.datasets.train, samplingOf(parts_), batchSizeOf(parts_.experiment)),
      parameters_(parts_.model.parameters()),
      agreement_(parts_.store, parts_.group.rank(), parts_.group.size(), parts_.stopRequested) {
  const auto& train = parts_.experiment.train;
  plannedSteps_ = train.steps ? *train.steps : train.epochs.value_or(1) * batches_.stepsPerEpoch();
  const std::int64_t batch = batchSizeOf(parts_.experiment);
  const std::int64_t missing = parts_.faults != nullptr ? parts_.faults->samplesLeftOut() : 0;
  // The fault counts samples: a batch that would be short is left out whole.
  ownSteps_ = std::max<std::int64_t>(0, plannedSteps_ - (missing + batch - 1) / batch);
}

base::Status TrainLoop::resume(const Position& position) {
  const auto& train = parts_.experiment.train;
  if (position.seed != train.seed) {
    return base::Error{base::ExitCode::kBadInput,
                       fmt::format("was written with train.seed = {}, this run has {}; the order "
                                   "of the data would differ",
                                   position.seed, train.seed),
                       train.resumeFrom};
  }
  if (position.step >= plannedSteps_) {
    return base::Error{base::ExitCode::kBadInput,
                       fmt::format("stands at step {} of {}: nothing is left to train; raise "
                                   "train.{}",
                                   position.step, plannedSteps_, train.steps ? "steps" : "epochs"),
                       train.resumeFrom};
  }
  // Or the first step would write the checkpoint that it was resumed from again.
  step_ = lastCheckpoint_ = position.step;
  batches_.seek(position.epoch, position.samples);
  return {};
}

base::Result<TrainOutcome> TrainLoop::run() {
  TrainOutcome outcome;
  std::int64_t stepsDone = 0;
  if (parts_.experiment.ddp.join) {
    stepsDone = LOCKSTEP_TRY(trainJoined(outcome));
  } else {
    LOCKSTEP_TRY(trainSteps(outcome));
    stepsDone = step_;
  }
  if (parts_.hook != nullptr) {
    parts_.hook->endOfRun(static_cast<std::uint32_t>(stepsDone));
  }
  if (parts_.fingerprint != nullptr) {
    parts_.fingerprint->afterAll(static_cast<std::uint32_t>(stepsDone));
  }
  // Whoever stops a run waits for it; an evaluation may take longer than they do.
  if (parts_.experiment.train.evaluateAtEnd && !outcome.stopped && lastEvaluation_ != stepsDone) {
    evaluateNow(stepsDone);
  }
  // What was trained since the last one, also after a stop.
  if (lastCheckpoint_ != step_) {
    LOCKSTEP_TRY(checkpointNow());
  }
  outcome.steps = step_;
  outcome.loss = loss_;
  return outcome;
}

base::Result<std::int64_t> TrainLoop::trainJoined(TrainOutcome& outcome) {
  const auto& config = parts_.experiment.ddp;
  ddp::JoinOptions options;
  options.divideByInitialWorldSize = config.divideByInitialWorldSize;
  options.throwOnEarlyTermination = config.throwOnEarlyTermination;
  options.tracer = &parts_.tracer;
  std::vector<ddp::Joinable*> joinables{parts_.strategy.joinable()};
  if (parts_.zero != nullptr) {
    joinables.push_back(parts_.zero);
  }
  AgreementInJoin agreement(agreement_, *joinables.front());
  // Rank 0 decides for the others for as long as it shadows them.
  joinables.push_back(&agreement);
  ddp::Join join(std::move(joinables), options);
  LOCKSTEP_TRY(trainSteps(outcome));
  if (!outcome.stopped) {
    agreement_.leave(step_, true);
  }
  join.finish(stepNumber());
  // A rank that was out of inputs does not know whether the others were, too, or have stopped.
  process_group::CallOptions call;
  call.step = stepNumber() + static_cast<std::uint32_t>(join.shadowed());  // the same on all ranks
  const at::Tensor ends =
      at::tensor({outcome.stopped ? std::int64_t{1} : std::int64_t{0}, step_}, at::kLong);
  parts_.group.allreduce({ends}, process_group::ReduceOp::kMax, call)->wait();
  outcome.stopped = ends[0].item<std::int64_t>() != 0;
  return ends[1].item<std::int64_t>();
}

base::Status TrainLoop::trainSteps(TrainOutcome& outcome) {
  const auto& train = parts_.experiment.train;
  while (step_ < ownSteps_ && !outcome.stopped) {
    const bool synchronised = synchronises();
    step(synchronised);
    ++step_;
    if (train.evaluateEvery > 0 && step_ % train.evaluateEvery == 0) {
      evaluateNow(step_);
    }
    // Gradients that are half accumulated are in no checkpoint, and a stop would lose them.
    if (!synchronised) {
      continue;
    }
    if (train.checkpointEvery > 0 && step_ - lastCheckpoint_ >= train.checkpointEvery) {
      LOCKSTEP_TRY(checkpointNow());
    }
    if (step_ < ownSteps_) {
      const StepDecision decision = agreement_.before(step_);
      outcome.stopped = decision.stop;
      std::for_each(decision.changes.begin(), decision.changes.end(),
                    [this](const auto& wanted) { change(wanted); });
    }
  }
  if (!parts_.experiment.ddp.join && !outcome.stopped) {
    agreement_.leave(step_, false);
  }
  if (ownSteps_ < plannedSteps_ && !outcome.stopped) {
    parts_.faults->inputsEnded(stepNumber());
    parts_.tracer.lastWords().inputsEnded.store(1, std::memory_order_relaxed);
  }
  return {};
}

bool TrainLoop::synchronises() const {
  const auto& config = parts_.experiment.ddp;
  // In a Join all ranks must synchronise in the same steps, also one whose inputs end early.
  const std::int64_t last = config.join ? plannedSteps_ : ownSteps_;
  return (step_ + 1) % config.syncEvery == 0 || step_ + 1 == last;
}

/// A phase that computes: a span by the host's clock, or by that of the device that it queues its
/// work on.
class TrainLoop::Phase {
 public:
  Phase(TrainLoop& loop, EventKind kind)
      : parts_(loop.parts_),
        kind_(kind),
        step_(loop.stepNumber()),
        span_(parts_.deviceSpans == nullptr ? parts_.lane : loop.unheard_, kind, step_,
              &parts_.tracer.lastWords()),
        begin_(now()) {
    tellOfCores();
  }
  ~Phase() {
    tellOfCores();
    if (parts_.deviceSpans != nullptr) {
      parts_.deviceSpans->add(parts_.lane, kind_, begin_, now(), step_);
    }
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  [[nodiscard]] device::DeviceSpans::Point now() const {
    return parts_.deviceSpans == nullptr ? nullptr : parts_.deviceSpans->now();
  }
  void tellOfCores() { trace::CoreWait::ofThisThread().tell(parts_.lane, step_); }

  TrainParts& parts_;
  const EventKind kind_;
  const std::uint32_t step_;
  const ScopedSpan span_;
  const device::DeviceSpans::Point begin_;
};

void TrainLoop::step(bool synchronised) {
  auto& words = parts_.tracer.lastWords();
  const std::uint32_t number = stepNumber();
  ScopedSpan whole(parts_.lane, EventKind::kStep, number, &words);
  parts_.strategy.beginStep(number);
  if (parts_.faults != nullptr) {
    parts_.faults->beginStep(number);
  }
  if (parts_.batchNorm != nullptr) {
    parts_.batchNorm->setStep(number);
  }
  if (parts_.hook != nullptr) {
    parts_.hook->beforeForward(number);
  }
  seedStep();
  Batch batch;
  {
    const ScopedSpan span(parts_.lane, EventKind::kData, number, &words);
    suffer("data");
    batch = batches_.next().to(deviceOf(parameters_));
  }
  if (parts_.fingerprint != nullptr) {
    parts_.fingerprint->before(number);
  }
  at::Tensor loss;
  {
    const Phase phase(*this, EventKind::kForward);
    suffer("forward");
    loss = parts_.strategy.loss(batch, synchronised);
  }
  {
    const Phase phase(*this, EventKind::kBackward);
    loss.backward();
    parts_.strategy.afterBackward(synchronised);
  }
  if (synchronised) {
    const Phase phase(*this, EventKind::kOptimizer);
    suffer("optimizer");
    updateParameters();
    zeroGradients();
  }
  if (synchronised && parts_.log != nullptr) {
    auto numbers =
        parts_.hook == nullptr ? std::map<std::string, double>() : parts_.hook->takeCounters();
    numbers.insert(changed_.begin(), changed_.end());
    parts_.log->iteration(number, numbers);
  }
  const double before = std::exchange(loss_, loss.item<double>());  // waits for the device
  if (parts_.deviceSpans != nullptr) {
    parts_.deviceSpans->write();
  }
  refuseBrokenGroup();
  parts_.lane.number(EventKind::kLoss, number, loss_);
  noteLoss(before);
}

void TrainLoop::suffer(std::string_view phase) {
  if (parts_.faults != nullptr) {
    parts_.faults->inPhase(phase);
  }
}

void TrainLoop::noteLoss(double before) {
  if (std::isfinite(loss_)) {
    leastLoss_ = std::min(leastLoss_.value_or(loss_), loss_);
    // What is said of the first bad loss: the one before it, the least so far, and how many were
    // good.
    finiteLosses_ += lossIsLost_ ? 0 : 1;
  } else if (!lossIsLost_) {
    lossIsLost_ = true;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    parts_.tracer.send(trace::toJson(trace::BadLossMessage{
        stepNumber(), loss_, leastLoss_ ? before : kNone, leastLoss_.value_or(kNone), finiteLosses_,
        parts_.hook == nullptr ? "" : parts_.hook->name()}));
  }
}

void TrainLoop::refuseBrokenGroup() {
  // On a GPU a step ends, on whatever stands in its buckets, when a collective in it was given up.
  if (parts_.group.state() != process_group::GroupState::kSuccess) {
    parts_.group.barrier()->wait();  // throws what broke it
  }
}

void TrainLoop::updateParameters() {
  // One of them steps: ZeRO its own part, a hook that averages parameters, the optimizer inside the
  // backward, which has done it already, or the plain one.
  if (parts_.zero != nullptr) {
    parts_.zero->setStep(stepNumber());
    parts_.zero->step();
  } else if (parts_.hook != nullptr && parts_.hook->ownsUpdate()) {
    parts_.hook->update(stepNumber());
  } else if (parts_.inBackward == nullptr) {
    parts_.optimizer.step();
  }
  if (parts_.hook != nullptr) {
    parts_.hook->afterOptimizer(stepNumber());
  }
}

void TrainLoop::change(const experiment::SettingChange& wanted) {
  const auto json = nlohmann::json::parse(wanted.value);
  const plugin::HookValue value = json.is_string() ? plugin::HookValue(json.get<std::string>())
                                                   : plugin::HookValue(json.get<double>());
  try {
    if (parts_.hook == nullptr) {
      throw hooks::HookError("the run has no plugin's hook");
    }
    parts_.hook->set(wanted.key, value);
  } catch (const hooks::HookError& error) {
    base::logWarning("{} stays as it was: {}", wanted.key, error.what());
    return;
  }
  if (const auto* number = std::get_if<double>(&value)) {
    changed_.insert_or_assign(wanted.key, *number);
  }
  if (parts_.group.rank() == 0) {
    parts_.tracer.send(trace::toJson(trace::EnvironmentMessage{
        {{experiment::environmentKey({stepNumber(), wanted}), wanted.value}}}));
    base::logInfo("{} = {} from step {} on", wanted.key, wanted.value, step_);
  }
}

void TrainLoop::zeroGradients() {
  // A gradient that is a view of its bucket must stay one; any other is dropped, so that the
  // next backward hands its own over instead of adding to zeros. Those that DDP ignores, too.
  const bool keep = parts_.experiment.ddp.gradientAsBucketView;
  for (at::Tensor& parameter : parameters_) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined()) {
      continue;
    }
    if (keep) {
      at::NoGradGuard noGrad;
      gradient.zero_();
    } else {
      gradient.reset();
    }
  }
}

void TrainLoop::seedStep() const {
  const std::uint64_t seed =
      static_cast<std::uint64_t>(parts_.experiment.train.seed) * 0x9E3779B97F4A7C15ull +
      // The rank in the upper bits, so that no step of one rank has the seed of another's; the
      // factor spreads seeds that are neighbours.
      (static_cast<std::uint64_t>(parts_.group.rank()) << 40) + static_cast<std::uint64_t>(step_);
  const auto seedOf = [seed](at::Generator generator) {
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(seed);
  };
  seedOf(at::detail::getDefaultCPUGenerator());
  if (const c10::Device device = deviceOf(parameters_); !device.is_cpu()) {
    seedOf(at::globalContext().defaultGenerator(device));
  }
}

void TrainLoop::evaluateNow(std::int64_t stepsDone) {
  if (!parts_.model.hasClasses()) {
    return;
  }
  // Events count steps from 0: this one belongs to the step that was just done.
  const auto number = static_cast<std::uint32_t>(std::max<std::int64_t>(stepsDone, 1) - 1);
  ScopedSpan span(parts_.lane, EventKind::kEvaluate, number, &parts_.tracer.lastWords());
  const auto result = evaluate(parts_.model, *parts_.datasets.test, parts_.group,
                               parts_.experiment.data.batchSize, number);
  lastEvaluation_ = stepsDone;
  if (parts_.group.rank() == 0) {
    parts_.tracer.send(trace::toJson(result));
    if (!parts_.tracer.recording()) {
      base::logInfo("after {} steps: test loss {:.4f}, test accuracy {}", stepsDone, result.loss,
                    base::percentText(100 * result.accuracy, 2));
    }
  }
}

// A collective where the hook has a state: every rank's is in the one file that rank 0 writes.
// Model and optimizer are the same on all ranks, so that rank 0's stand for all.
base::Status TrainLoop::checkpointNow() {
  const auto& train = parts_.experiment.train;
  refuseBrokenGroup();
  lastCheckpoint_ = step_;
  if (train.checkpoint.empty()) {
    return {};
  }
  SavedHook states;
  if (parts_.hook != nullptr) {
    const std::string own = parts_.hook->save();
    if (!own.empty()) {
      states = {parts_.hook->name(), ddp::gatherTexts(parts_.group, own, ddp::Readers::kRank0)};
    }
  }
  if (parts_.group.rank() != 0) {
    return {};
  }
  ScopedSpan span(parts_.lane, EventKind::kCheckpoint, step_ > 0 ? stepNumber() - 1 : 0,
                  &parts_.tracer.lastWords());
  // The file has one form, that of libtorch's optimizers.
  if (parts_.inBackward != nullptr) {
    copyState(*parts_.inBackward, parts_.optimizer);
  }
  return saveCheckpoint(train.checkpoint, parts_.model, parts_.optimizer,
                        {step_, batches_.epoch(), batches_.samples(), train.seed}, states);
}

}  // namespace lockstep::train
