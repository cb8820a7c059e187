#pragma once

#include <cstddef>
#include <vector>

#include "engine/process_group/Reduction.h"
#include "engine/process_group/gloo/Dispatcher.h"
#include "engine/process_group/gloo/Flight.h"

namespace lockstep::process_group::gloo {

// The algorithms of each collective over a full mesh of connections. They run on a worker, block
// until this rank is done, and throw PeerLost or Interrupted. A group has at least two ranks
// here. Elements are reduced in rank order: see Note [Order of reduction].

/// How to reduce.
struct Kernel {
  reduction::Combine combine = nullptr;
  std::size_t elementSize = 1;
};

/// A block of memory.
struct Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// In place. Small blocks are exchanged whole, in one round, and reduced by every rank: each
/// sends S(n-1) bytes. Larger ones are cut into a piece for each rank: reduce-scatter, then
/// allgather, 2S(n-1)/n bytes.
void allreduce(Flight& flight, Scratch& scratch, Block block, const Kernel& kernel);

/// In place on `root`. Small: everybody sends S to the root. Larger: reduce-scatter, then the
/// pieces go to the root: S bytes from each other rank.
void reduce(Flight& flight, Scratch& scratch, Block block, const Kernel& kernel, int root);

/// output = reduction of every rank's inputs[rank]; S(n-1) bytes, S = size of the output.
void reduceScatter(Flight& flight, Scratch& scratch, Block output,
                   const std::vector<Block>& inputs, const Kernel& kernel);

/// The root sends each block to every other rank.
void broadcast(Flight& flight, const std::vector<Block>& blocks, int root);

/// outputs[r] = rank r's input.
void allgather(Flight& flight, const std::vector<Block>& outputs, Block input);

/// As allgather, on the root only; `outputs` is empty elsewhere.
void gather(Flight& flight, const std::vector<Block>& outputs, Block input, int root);

/// output = the root's inputs[rank]; `inputs` is empty elsewhere.
void scatter(Flight& flight, Block output, const std::vector<Block>& inputs, int root);

/// outputs[r] = rank r's inputs[rank]; sizes may differ from pair to pair.
void alltoall(Flight& flight, const std::vector<Block>& outputs, const std::vector<Block>& inputs);

/// Returns once every rank has come: a dissemination barrier of ceil(log2 n) rounds (Hensgen,
/// Finkel, Manber 1988).
void barrier(Flight& flight);

}  // namespace lockstep::process_group::gloo
