#include "engine/process_group/shared_memory/Watch.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/Thread.h"

namespace lockstep::process_group::shared_memory {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick = milliseconds(50);
constexpr milliseconds kIdleTick = milliseconds(250);
// What a rank that leaves gives its last messages to go out.
constexpr milliseconds kFarewell = milliseconds(500);

}  // namespace

Watch::Watch(std::shared_ptr<Dispatcher> dispatcher, std::shared_ptr<PointToPoint> pointToPoint,
             std::shared_ptr<Directory> directory, std::shared_ptr<Mesh> mesh)
    : dispatcher_(std::move(dispatcher)),
      pointToPoint_(std::move(pointToPoint)),
      directory_(std::move(directory)),
      mesh_(std::move(mesh)),
      leaving_(static_cast<std::size_t>(dispatcher_->member().size)),
      thread_([this] { run(); }) {}

Watch::~Watch() {
  stopping_ = true;
  mesh_->wake();
  thread_.join();
  // Before the connections end, so that the others do not take it for a crash.
  mesh_->sendToAll(Message::Header{});  // kLeaving
  mesh_->flush(kFarewell);
  mesh_->close();
}

void Watch::run() {
  base::nameThisThread("shm watch");
  const Mesh::Handlers handlers{
      [this](int rank, Message message) { arrived(rank, std::move(message)); },
      [this](int rank, bool nonsense) { ended(rank, nonsense); }};
  milliseconds tick = kIdleTick;
  while (!stopping_) {
    mesh_->poll(tick, handlers);
    // A reason that was on its way has come by now, or will not come.
    if (!gone_.empty() && !dispatcher_->reasonMayCome()) {
      for (const int rank : std::exchange(gone_, {})) {
        lose(rank);
      }
    }
    tick = dispatcher_->checkTimes() ? kTick : kIdleTick;
  }
}

void Watch::arrived(int rank, Message message) {
  switch (message.header.kind) {
    case Message::Kind::kBoard:
      break;
    case Message::Kind::kSegment:
      directory_->learn(rank, message.header, std::move(message.file));
      break;
    case Message::Kind::kGone:
      directory_->forget(rank, message.header.id);
      break;
    case Message::Kind::kGaveUp: {
      const std::string why(reinterpret_cast<const char*>(message.body.data()),
                            message.body.size());
      const int peer = message.header.peer;
      // The rank it waited for is nearer to the cause than itself, unless that is this rank.
      const bool us = peer == dispatcher_->member().rank;
      dispatcher_->breakGroup(Failure{
          fmt::format("rank {} gave up: {}{}", rank, why, us ? " (it waited for this rank)" : ""),
          peer >= 0 && !us ? peer : rank, CommErrorKind::kRemote});
      break;
    }
    case Message::Kind::kLeaving:
      leaving_[static_cast<std::size_t>(rank)] = true;
      break;
    case Message::Kind::kOffer:
    case Message::Kind::kAccepted:
    case Message::Kind::kRefused:
      pointToPoint_->arrived(rank, std::move(message));
      break;
  }
}

void Watch::ended(int rank, bool nonsense) {
  if (nonsense) {
    dispatcher_->breakGroup(Failure{fmt::format("rank {} sent a message that makes no sense", rank),
                                    rank, CommErrorKind::kNetwork});
    return;
  }
  // A rank that has heard of a failure may leave before this one has heard of it. Its end is not
  // what has failed, so the reason is waited for.
  if (leaving_[static_cast<std::size_t>(rank)] && dispatcher_->reasonMayCome()) {
    gone_.push_back(rank);
    return;
  }
  lose(rank);
}

void Watch::lose(int rank) {
  const Failure failure{
      leaving_[static_cast<std::size_t>(rank)]
          ? fmt::format("rank {} has left the group", rank)
          : fmt::format("lost the connection to rank {}; its process has probably ended", rank),
      rank, CommErrorKind::kNetwork};
  // First, so that sends and receives that begin from now on fail at once; then the dispatcher
  // breaks the group where something in flight needs that rank.
  pointToPoint_->lose(rank, failure);
  directory_->forgetAll(rank);
  dispatcher_->lose(rank, failure);
}

}  // namespace lockstep::process_group::shared_memory
