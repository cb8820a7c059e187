// Collectives that reduce: see Note [What MPI reduces].

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/process_group/Reduction.h"
#include "engine/process_group/mpi/Collectives.h"
#include "engine/process_group/mpi/Requests.h"
#include "engine/process_group/mpi/Staging.h"

namespace lockstep::process_group::mpi {
namespace {

using Access = Flat::Access;

// Up to this many bytes received, one round of whole tensors beats two rounds of pieces.
constexpr std::size_t kExchangeBytes = 512 * 1024;

struct Kernel {
  reduction::Combine combine = nullptr;
  std::size_t elementSize = 1;
};

Kernel kernelFor(const at::Tensor& tensor, ReduceOp op) {
  return Kernel{reduction::combiner(tensor.scalar_type(), op),
                static_cast<std::size_t>(tensor.element_size())};
}

// What comes from the other ranks, and where it is combined with this one's.
class Incoming {
 public:
  explicit Incoming(Place place) : place_(place) {}

  // Posts a receive of `bytes` from every other rank.
  void post(Requests& requests, std::size_t bytes) {
    bytes_ = bytes;
    memory_.reset(new std::byte[bytes * static_cast<std::size_t>(place_.size - 1)]);
    for (int step = 1; step < place_.size; ++step) {
      const int peer = (place_.rank + place_.size - step) % place_.size;
      requests.receive(peer, from(peer), bytes);
    }
  }

  // Combines it all in rank order.
  void combine(std::byte* out, const std::byte* own, const Kernel& kernel) {
    std::vector<const void*> sources;
    for (int rank = 0; rank < place_.size; ++rank) {
      sources.push_back(rank == place_.rank ? own : from(rank));
    }
    kernel.combine(out, sources.data(), place_.size, bytes_ / kernel.elementSize, place_.size);
    memory_.reset();
  }

 private:
  [[nodiscard]] std::byte* from(int peer) const {
    // This rank has no place of its own.
    return memory_.get() + static_cast<std::size_t>(peer < place_.rank ? peer : peer - 1) * bytes_;
  }

  const Place place_;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

// Cuts a block into one piece a rank, at multiples of 16 elements; the last may be short.
std::vector<Block> pieces(Block block, std::size_t elementSize, int ranks) {
  const std::size_t elements = block.bytes / elementSize;
  const auto n = static_cast<std::size_t>(ranks);
  // Whole cache lines for types of 4 bytes and more.
  const std::size_t each = ((elements + n - 1) / n + 15) / 16 * 16;
  std::vector<Block> result;
  for (std::size_t rank = 0; rank < n; ++rank) {
    const std::size_t begin = std::min(rank * each, elements);
    const std::size_t end = std::min(begin + each, elements);
    result.push_back(Block{block.data + begin * elementSize, (end - begin) * elementSize});
  }
  return result;
}

template <typename Function>
void forEachPeer(Place place, Function function) {
  for (int step = 1; step < place.size; ++step) {
    function((place.rank + step) % place.size);
  }
}

bool isSmall(Place place, Block block) {
  return block.bytes * static_cast<std::size_t>(place.size - 1) <= kExchangeBytes;
}

// MPI has summed; kAverage divides.
void divide(Block block, const Kernel& kernel, ReduceOp op, int size) {
  if (op == ReduceOp::kAverage) {
    const void* const source = block.data;
    // The combiner divides what it has summed, here the one source that MPI has summed already.
    kernel.combine(block.data, &source, 1, block.bytes / kernel.elementSize, size);
  }
}

}  // namespace

Schedule allreduce(Place place, std::vector<at::Tensor> tensors, ReduceOp op) {
  Schedule schedule;
  if (place.size == 1) {
    return schedule;
  }
  const Kernel kernel = kernelFor(tensors[0], op);
  const auto native = nativeReduction(tensors[0].scalar_type(), op);
  const auto staged =
      std::make_shared<Staging>(std::move(tensors), Access::kReadWrite, Staging::Shape::kJoined);
  showFirst(schedule, {staged});
  if (native) {
    schedule.rounds.push_back(
        {[staged, native](Requests& requests) { requests.allreduce(staged->block(), *native); },
         [staged, kernel, op, place] {
           divide(staged->block(), kernel, op, place.size);
           staged->copyBack();
         }});
    return schedule;
  }
  const auto incoming = std::make_shared<Incoming>(place);
  // A small tensor is combined whole by every rank; of a larger one each rank combines its own
  // piece.
  const auto mine = [staged, kernel, place] {
    const Block block = staged->block();
    return isSmall(place, block) ? block
                                 : pieces(block, kernel.elementSize,
                                          place.size)[static_cast<std::size_t>(place.rank)];
  };
  schedule.rounds.push_back(
      {[staged, kernel, place, incoming, mine](Requests& requests) {
         const Block block = staged->block();
         incoming->post(requests, mine().bytes);
         const auto cutUp = pieces(block, kernel.elementSize, place.size);
         forEachPeer(place, [&](int peer) {
           const Block theirs =
               isSmall(place, block) ? block : cutUp[static_cast<std::size_t>(peer)];
           requests.send(peer, theirs.data, theirs.bytes);
         });
       },
       [kernel, incoming, mine] { incoming->combine(mine().data, mine().data, kernel); }});
  schedule.rounds.push_back(
      {[staged, kernel, place, mine](Requests& requests) {
         const Block block = staged->block();
         // All have combined all: the second round posts nothing, and ends at once.
         if (isSmall(place, block)) {
           return;
         }
         const auto cutUp = pieces(block, kernel.elementSize, place.size);
         forEachPeer(place, [&](int peer) {
           const Block theirs = cutUp[static_cast<std::size_t>(peer)];
           requests.receive(peer, theirs.data, theirs.bytes);
         });
         forEachPeer(place, [&](int peer) { requests.send(peer, mine().data, mine().bytes); });
       },
       [staged] { staged->copyBack(); }});
  return schedule;
}

Schedule reduce(Place place, at::Tensor tensor, int root, ReduceOp op) {
  Schedule schedule;
  if (place.size == 1) {
    return schedule;
  }
  const Kernel kernel = kernelFor(tensor, op);
  const auto native = nativeReduction(tensor.scalar_type(), op);
  const bool atRoot = place.rank == root;
  const auto staged = std::make_shared<Staging>(std::vector<at::Tensor>{std::move(tensor)},
                                                atRoot ? Access::kReadWrite : Access::kRead);
  const auto incoming = std::make_shared<Incoming>(place);
  showFirst(schedule, {staged});
  const auto post = [=](Requests& requests) {
    const Block block = staged->block();
    if (native) {
      requests.reduce(block, *native, root, atRoot);
    } else if (atRoot) {
      incoming->post(requests, block.bytes);
    } else {
      requests.send(root, block.data, block.bytes);
    }
  };
  const auto then = [=] {
    if (!atRoot) {
      return;
    }
    const Block block = staged->block();
    if (native) {
      divide(block, kernel, op, place.size);
    } else {
      incoming->combine(block.data, block.data, kernel);
    }
    staged->copyBack();
  };
  schedule.rounds.push_back({post, then});
  return schedule;
}

Schedule reduceScatter(Place place, at::Tensor output, std::vector<at::Tensor> inputs,
                       ReduceOp op) {
  Schedule schedule;
  const Kernel kernel = kernelFor(output, op);
  const auto from = std::make_shared<Staging>(std::move(inputs), Access::kRead);
  const auto to =
      std::make_shared<Staging>(std::vector<at::Tensor>{std::move(output)}, Access::kWrite);
  showFirst(schedule, {from, to});
  const auto self = static_cast<std::size_t>(place.rank);
  if (place.size == 1) {
    schedule.prepare = [show = std::move(schedule.prepare), from, to] {
      if (show) {
        show();
      }
      copy(to->block(), from->block());
      to->copyBack();
    };
    return schedule;
  }
  const auto incoming = std::make_shared<Incoming>(place);
  schedule.rounds.push_back({[from, to, place, incoming](Requests& requests) {
                               incoming->post(requests, to->block().bytes);
                               forEachPeer(place, [&](int peer) {
                                 const Block theirs = from->block(static_cast<std::size_t>(peer));
                                 requests.send(peer, theirs.data, theirs.bytes);
                               });
                             },
                             [from, to, kernel, incoming, self] {
                               incoming->combine(to->block().data, from->block(self).data, kernel);
                               to->copyBack();
                             }});
  return schedule;
}

}  // namespace lockstep::process_group::mpi
