#include "engine/process_group/nccl/Launcher.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <stdexcept>

#include "engine/process_group/nccl/DeviceWork.h"

namespace lockstep::process_group::nccl {
namespace {

void askAsOne(Library& library, Channel& channel, const std::function<void(Channel&)>& body) {
  // While asked, no abort: NCCL allows one thread at a time.
  std::lock_guard asking(channel.asking);
  library.groupStart();
  try {
    body(channel);
  } catch (...) {
    try {
      library.groupEnd();  // else the thread's next calls join what has failed
    } catch (const LibraryError&) {
      // The first error tells more.
    }
    throw;
  }
  library.groupEnd();
}

}  // namespace

Launcher::Launcher(std::string callee, const Member& member, std::shared_ptr<Devices> devices,
                   std::shared_ptr<Library> library, const std::shared_ptr<store::Store>& store)
    : callee_(std::move(callee)),
      devices_(std::move(devices)),
      communicators_({member.group, member.rank, member.size}, std::move(library), store),
      watchdog_(member, {[this] { communicators_.abort(); }, [this] { communicators_.check(); }},
                store) {}

Launcher::~Launcher() {
  watchdog_.drain();
}

void Launcher::checkDevices(const Launch& launch) const {
  for (const at::Tensor& tensor : launch.tensors) {
    if (tensor.device().type() == devices_->type() &&
        tensor.device() == launch.tensors.front().device()) {
      continue;
    }
    throw std::invalid_argument(fmt::format(
        "{}::{}: a tensor is on {}; this backend takes tensors of one {} device{}", callee_,
        trace::name(launch.call.operation), tensor.device().str(),
        c10::DeviceTypeName(devices_->type(), true),
        tensor.device().is_cpu() ? ": move it there, or take a backend of the CPU for it, as in "
                                   "\"cpu:gloo,cuda:nccl\""
                                 : ""));
  }
}

std::shared_ptr<Work> Launcher::launch(Launch launch) {
  checkDevices(launch);
  const at::NoGradGuard noGrad;
  FlightPtr flight;
  std::shared_ptr<Work> work;
  std::optional<Failure> failure;
  {
    // Held until a collective is with the device: the number and the order on the stream are one.
    std::lock_guard lock(mutex_);
    flight = watchdog_.enter(std::move(launch.call), std::move(launch.outputs), launch.limit);
    // The group is broken: it has failed already.
    if (flight->work->isCompleted()) {
      return flight->work;
    }
    try {
      Device& device = devices_->at(
          launch.tensors.empty() ? devices_->current() : launch.tensors.front().device().index());
      work = std::make_shared<DeviceWork>(flight, device);
      // What the caller's stream holds now comes before the operation. Recorded here, on the
      // caller's thread, whose current stream it is.
      const std::shared_ptr<Event> inputs = device.makeEvent(false);
      inputs->record(device.currentStream());
      if (launch.pair) {
        post(flight, std::move(launch), device, inputs);
      } else {
        failure = bring(flight, launch, device, *inputs);
      }
    } catch (const std::exception& error) {
      failure = Failure{error.what()};
    }
  }
  // Not under the lock: who waits for the operation may call the group.
  if (failure) {
    watchdog_.fail(flight, *failure);
  }
  return work == nullptr ? flight->work : work;
}

// With the mutex held, so that the messages of a pair come in the order of the calls.
void Launcher::post(const FlightPtr& flight, Launch launch, Device& device,
                    const std::shared_ptr<Event>& inputs) {
  if (flight->call.operation == trace::Operation::kRecv) {
    flight->work->setSourceRank(launch.pair->first);
  }
  auto& queue = pairs_[*launch.pair];
  if (queue == nullptr) {
    queue = std::make_unique<Workers>(std::vector<std::string>{"nccl direct"});
  }
  queue->put([this, flight, launch = std::move(launch), &device, inputs](trace::Lane*) {
    if (const auto failure = bring(flight, launch, device, *inputs)) {
      watchdog_.fail(flight, *failure);
    }
  });
}

std::optional<Failure> Launcher::bring(const FlightPtr& flight, const Launch& launch,
                                       Device& device, const Event& inputs) {
  if (flight->work->isCompleted()) {
    return std::nullopt;  // failed while it waited
  }
  try {
    queue(flight, launch, device, inputs);
    watchdog_.launched(flight);
    return std::nullopt;
  } catch (const Unreachable& unreachable) {
    return unreachable.failure;
  } catch (const LibraryError& error) {
    return watchdog_.explain(flight, error);
  } catch (const std::exception& error) {  // of the device, or memory that is not there
    return Failure{error.what()};
  }
}

void Launcher::queue(const FlightPtr& flight, const Launch& launch, Device& device,
                     const Event& inputs) {
  const auto deadline = flight->calledAt + flight->limit;
  Channel& channel =
      launch.pair ? communicators_.pair(device, launch.pair->first, launch.pair->second, deadline)
                  : communicators_.all(device, deadline);
  flight->begin = device.makeEvent(true);
  flight->end = device.makeEvent(true);
  flight->clock = &channel.clock;
  flight->channel = &channel;
  flight->kept = launch.tensors;
  for (const auto* operands : {&launch.reads, &launch.writes}) {
    for (const Operand& operand : *operands) {
      flight->kept.push_back(operand.flat());
    }
  }
  // The channel's stream waits for the inputs, on the device; the host does not.
  inputs.block(channel.stream);
  if (flight->call.operation == trace::Operation::kBarrier) {
    standBehindAll(*flight, channel.stream);
  }
  // Before the copies in, which are part of what the operation costs.
  flight->begin->record(channel.stream);
  // Copies of what they need: a device may come to them when the call has returned.
  device.onStream(channel.stream, [reads = launch.reads, before = launch.before] {
    for (const Operand& operand : reads) {
      operand.fill();
    }
    if (before) {
      before();
    }
  });
  askAsOne(communicators_.library(), channel, launch.body);
  if (!communicators_.settle(channel, deadline)) {
    throw Unreachable{watchdog_.timeOut(*flight)};  // NCCL connects ranks when they first need it
  }
  device.onStream(channel.stream, [writes = launch.writes] {
    for (const Operand& operand : writes) {
      operand.empty();
    }
  });
  flight->end->record(channel.stream);
}

void Launcher::standBehindAll(const Flight& barrier, const c10::Stream& stream) {
  // On the host: an event can be waited for only once it is recorded, and these may still wait for
  // ranks.
  for (const FlightPtr& earlier : watchdog_.flightsBefore(barrier)) {
    (void)earlier->underWay.waitFor(barrier.limit);  // who does not get there breaks the group
  }
  // On the device: the barrier's stream comes after all that every channel has so far.
  for (const auto& channel : communicators_.channels()) {
    const auto earlier = channel->device.makeEvent(false);
    earlier->record(channel->stream);
    earlier->block(stream);
  }
}

}  // namespace lockstep::process_group::nccl
