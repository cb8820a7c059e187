// Collectives that move data and compute nothing.

#include <memory>

#include "engine/process_group/mpi/Collectives.h"
#include "engine/process_group/mpi/Requests.h"
#include "engine/process_group/operation/Moves.h"

namespace lockstep::process_group::mpi {

Schedule broadcast(Place place, const Request& request) {
  Schedule schedule;
  if (place.size == 1) {
    return schedule;
  }
  const int root = request.call.root;
  const bool atRoot = place.rank == root;
  const auto staged = std::make_shared<Staging>(
      request.outputs, atRoot ? Flat::Access::kRead : Flat::Access::kWrite);
  showFirst(schedule, staged->copies(), [staged] { staged->show(); });
  const auto post = [staged, root](Requests& requests) {
    for (std::size_t i = 0; i < staged->count(); ++i) {
      requests.broadcast(staged->block(i), root);
    }
  };
  const auto then = [staged, atRoot] {
    if (!atRoot) {
      staged->copyBack();
    }
  };
  schedule.rounds.push_back({post, then});
  return schedule;
}

Schedule barrier(Place place) {
  Schedule schedule;
  if (place.size > 1) {
    schedule.rounds.push_back({[](Requests& requests) { requests.barrier(); }, nullptr});
  }
  return schedule;
}

Schedule move(Place place, const Request& request) {
  Schedule schedule;
  const auto moves =
      std::make_shared<Moves>(request.call, request.outputs, request.inputs, place.rank);
  showFirst(schedule, moves->copies(), [moves] { moves->show(); });
  const auto finish = [moves] {
    moves->keepOwn();
    moves->copyBack();
  };
  if (place.size == 1) {
    doAlone(schedule, finish);
    return schedule;
  }
  const auto post = [place, moves](Requests& requests) {
    forEachPeer(place.rank, place.size, [&](int peer) {
      for (const Block& block : moves->from(peer)) {
        requests.receive(peer, block.data, block.bytes);
      }
    });
    forEachPeer(place.rank, place.size, [&](int peer) {
      for (const Block& block : moves->to(peer)) {
        requests.send(peer, block.data, block.bytes);
      }
    });
  };
  schedule.rounds.push_back({post, finish});
  return schedule;
}

}  // namespace lockstep::process_group::mpi
