// Collectives that reduce: see Note [What MPI reduces].

#include <memory>
#include <utility>

#include "engine/process_group/mpi/Collectives.h"
#include "engine/process_group/mpi/Requests.h"
#include "engine/process_group/operation/Moves.h"
#include "engine/process_group/operation/PieceReduction.h"

namespace lockstep::process_group::mpi {
namespace {

using reduction::Kernel;

// MPI has summed; kAverage divides.
void divide(Block block, const Kernel& kernel, ReduceOp op, int size) {
  if (op == ReduceOp::kAverage) {
    const void* const source = block.data;
    // The combiner divides what it has summed, here the one source that MPI has summed already.
    kernel.combine(block.data, &source, 1, block.bytes / kernel.elementSize, size);
  }
}

// All that MPI does not reduce by itself.
Schedule reduceInPieces(Place place, const Request& request) {
  Schedule schedule;
  const auto all = std::make_shared<PieceReduction>(request.call, request.outputs, request.inputs,
                                                    place.rank, place.size);
  showFirst(schedule, all->copies(), [all] { all->show(); });
  if (place.size == 1) {
    doAlone(schedule, [all] {
      copy(all->result(), all->mine());
      all->copyBack();
    });
    return schedule;
  }
  // What comes from the other ranks.
  const auto memory = std::make_shared<std::unique_ptr<std::byte[]>>();
  const auto incoming = [all, memory](int peer) {
    return all->incoming(memory->get(), all->mine().bytes, peer);
  };
  const auto post = [all, place, memory, incoming](Requests& requests) {
    const std::size_t bytes = all->mine().bytes;
    memory->reset(new std::byte[bytes * static_cast<std::size_t>(place.size - 1)]);
    forEachPeer(place.rank, place.size,
                [&](int peer) { requests.receive(peer, incoming(peer), bytes); });
    forEachPeer(place.rank, place.size, [&](int peer) {
      const Block theirs = all->pieces()[static_cast<std::size_t>(peer)];
      requests.send(peer, theirs.data, theirs.bytes);
    });
  };
  const auto combine = [all, memory, incoming] {
    all->combine(0, all->mine().bytes, incoming);
    memory->reset();
  };
  const auto gather = [all, place](Requests& requests) {
    forEachPeer(place.rank, place.size, [&](int peer) {
      if (all->gathers(place.rank)) {
        const Block theirs = all->pieces()[static_cast<std::size_t>(peer)];
        requests.receive(peer, theirs.data, theirs.bytes);
      }
      if (all->gathers(peer)) {
        requests.send(peer, all->result().data, all->result().bytes);
      }
    });
  };
  schedule.rounds.push_back({post, combine});
  schedule.rounds.push_back({gather, [all] { all->copyBack(); }});
  return schedule;
}

}  // namespace

Schedule reduce(Place place, const Request& request) {
  const Call& call = request.call;
  const auto native = nativeReduction(call.dtype, call.reduce);
  const bool scatters = call.operation == trace::Operation::kReduceScatter;
  if (scatters || (place.size > 1 && !native)) {
    return reduceInPieces(place, request);
  }
  Schedule schedule;
  if (place.size == 1) {
    return schedule;
  }
  const auto flat = std::make_shared<Flat>();
  showFirst(schedule, request.outputs.size() > 1 || !request.outputs.front().is_contiguous(),
            [flat, tensors = request.outputs] { *flat = Flat::joined(tensors); });
  const bool everybody = call.operation == trace::Operation::kAllreduce;
  const bool takes = everybody || place.rank == call.root;
  const auto post = [=, root = call.root](Requests& requests) {
    if (everybody) {
      requests.allreduce(blockOf(*flat), *native);
    } else {
      requests.reduce(blockOf(*flat), *native, root, takes);
    }
  };
  const auto then = [=, op = call.reduce, kernel = Kernel::of(call.dtype, call.reduce)] {
    if (takes) {
      divide(blockOf(*flat), kernel, op, place.size);
      flat->copyBack();
    }
  };
  schedule.rounds.push_back({post, then});
  return schedule;
}

}  // namespace lockstep::process_group::mpi
