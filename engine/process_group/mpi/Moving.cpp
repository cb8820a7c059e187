// Collectives that move data and compute nothing.

#include <functional>
#include <utility>

#include "engine/process_group/mpi/Collectives.h"
#include "engine/process_group/mpi/Requests.h"
#include "engine/process_group/mpi/Staging.h"

namespace lockstep::process_group::mpi {
namespace {

using Access = Flat::Access;
using BlockOf = std::function<Block(int rank)>;

// Sends outgoing(r) to every rank r and receives incoming(r) from it; what stays here is copied.
// Either may be empty. Ends with `to`'s copies written back.
void swap(Schedule& schedule, Place place, BlockOf outgoing, BlockOf incoming, StagingPtr to) {
  const auto keepOwn = [place, outgoing, incoming] {
    if (outgoing && incoming) {
      copy(incoming(place.rank), outgoing(place.rank));
    }
  };
  // Nobody to send to: the copy is all of it.
  if (place.size == 1) {
    schedule.prepare = [show = std::move(schedule.prepare), keepOwn, to] {
      if (show) {
        show();
      }
      keepOwn();
      to->copyBack();
    };
    return;
  }
  const auto post = [place, outgoing = std::move(outgoing),
                     incoming = std::move(incoming)](Requests& requests) {
    // Receives first: data that comes early then goes straight to its place. Each rank begins with a
    // neighbour, so that not all begin with rank 0.
    for (int step = 1; incoming && step < place.size; ++step) {
      const int peer = (place.rank + place.size - step) % place.size;
      const Block block = incoming(peer);
      requests.receive(peer, block.data, block.bytes);
    }
    for (int step = 1; outgoing && step < place.size; ++step) {
      const int peer = (place.rank + step) % place.size;
      const Block block = outgoing(peer);
      requests.send(peer, block.data, block.bytes);
    }
  };
  const auto then = [keepOwn, to] {
    keepOwn();
    to->copyBack();
  };
  schedule.rounds.push_back({post, then});
}

// Only between `root` and the others.
BlockOf onlyFor(int root, BlockOf block) {
  return
      [root, block = std::move(block)](int rank) { return rank == root ? block(rank) : Block{}; };
}

StagingPtr stage(std::vector<at::Tensor> tensors, Access access) {
  return std::make_shared<Staging>(std::move(tensors), access);
}

BlockOf each(StagingPtr staged) {
  return [staged = std::move(staged)](int rank) {
    return staged->block(static_cast<std::size_t>(rank));
  };
}

BlockOf same(StagingPtr staged) {
  return [staged = std::move(staged)](int) { return staged->block(); };
}

}  // namespace

Schedule broadcast(Place place, std::vector<at::Tensor> tensors, int root) {
  Schedule schedule;
  if (place.size == 1) {
    return schedule;
  }
  const bool atRoot = place.rank == root;
  const auto staged = stage(std::move(tensors), atRoot ? Access::kRead : Access::kWrite);
  showFirst(schedule, {staged});
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

Schedule allgather(Place place, std::vector<at::Tensor> outputs, at::Tensor input) {
  Schedule schedule;
  const auto from = stage({std::move(input)}, Access::kRead);
  const auto to = stage(std::move(outputs), Access::kWrite);
  showFirst(schedule, {from, to});
  swap(schedule, place, same(from), each(to), to);
  return schedule;
}

Schedule gather(Place place, std::vector<at::Tensor> outputs, at::Tensor input, int root) {
  Schedule schedule;
  const auto from = stage({std::move(input)}, Access::kRead);
  const auto to = stage(std::move(outputs), Access::kWrite);
  showFirst(schedule, {from, to});
  swap(schedule, place, onlyFor(root, same(from)), place.rank == root ? each(to) : BlockOf(), to);
  return schedule;
}

Schedule scatter(Place place, at::Tensor output, std::vector<at::Tensor> inputs, int root) {
  Schedule schedule;
  const auto from = stage(std::move(inputs), Access::kRead);
  const auto to = stage({std::move(output)}, Access::kWrite);
  showFirst(schedule, {from, to});
  swap(schedule, place, place.rank == root ? each(from) : BlockOf(), onlyFor(root, same(to)), to);
  return schedule;
}

Schedule alltoall(Place place, at::Tensor output, at::Tensor input,
                  std::vector<std::uint64_t> bytesFrom, std::vector<std::uint64_t> bytesTo) {
  Schedule schedule;
  const auto from = stage({std::move(input)}, Access::kRead);
  const auto to = stage({std::move(output)}, Access::kWrite);
  showFirst(schedule, {from, to});
  const auto parts = [](StagingPtr staged, std::vector<std::uint64_t> bytes) -> BlockOf {
    return [staged = std::move(staged), bytes = std::move(bytes)](int rank) {
      return cut(staged->block(), bytes)[static_cast<std::size_t>(rank)];
    };
  };
  swap(schedule, place, parts(from, std::move(bytesTo)), parts(to, std::move(bytesFrom)), to);
  return schedule;
}

}  // namespace lockstep::process_group::mpi
