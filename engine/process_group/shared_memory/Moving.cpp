// Collectives that only move data, and the barrier.

#include <algorithm>
#include <numeric>

#include "engine/process_group/shared_memory/Collective.h"

namespace lockstep::process_group::shared_memory {
namespace {

using Access = Flat::Access;

class Broadcast final : public Collective {
 public:
  Broadcast(std::vector<at::Tensor> tensors, int root, bool atRoot)
      : Collective(Flat(std::move(tensors), atRoot ? Access::kRead : Access::kWrite), atRoot),
        root_(root) {}

  void take(const Windows& windows) override {
    // The root has its data already.
    if (!shows_) {
      windows.copy(root_, {0, own_.bytes()}, own_, 0);
    }
  }
  void finish() override {
    if (!shows_) {
      own_.copyBack();
    }
  }

 private:
  const int root_;
};

/// allgather, and gather, in which all but the root have no outputs.
class Gather final : public Collective {
 public:
  Gather(std::vector<at::Tensor> outputs, at::Tensor input)
      : Collective(Flat({std::move(input)}, Access::kRead), true),
        outputs_(std::move(outputs), Access::kWrite) {}

  void take(const Windows& windows) override {
    // Of a gather, on all but the root.
    if (outputs_.bytes() == 0) {
      return;
    }
    for (int rank = 0; rank < windows.size(); ++rank) {
      windows.copy(rank, {0, own_.bytes()}, outputs_,
                   own_.bytes() * static_cast<std::uint64_t>(rank));
    }
  }
  void finish() override { outputs_.copyBack(); }

 private:
  Flat outputs_;
};

class Scatter final : public Collective {
 public:
  Scatter(at::Tensor output, std::vector<at::Tensor> inputs, int root)
      : Collective(Flat(inputs, Access::kRead), !inputs.empty()),
        output_({std::move(output)}, Access::kWrite),
        root_(root) {}

  void take(const Windows& windows) override {
    const std::uint64_t mine = output_.bytes() * static_cast<std::uint64_t>(windows.rank());
    windows.copy(root_, {mine, mine + output_.bytes()}, output_, 0);
  }
  void finish() override { output_.copyBack(); }

 private:
  Flat output_;
  const int root_;
};

class Alltoall final : public Collective {
 public:
  Alltoall(at::Tensor output, at::Tensor input, const Call& call)
      : Collective(Flat({std::move(input)}, Access::kRead), true),
        output_({std::move(output)}, Access::kWrite),
        bytesFrom_(call.bytesFrom) {}

  void take(const Windows& windows) override {
    std::uint64_t place = 0;
    for (int rank = 0; rank < windows.size(); ++rank) {
      const std::uint64_t bytes = bytesFrom_[static_cast<std::size_t>(rank)];
      const std::uint64_t begin = windows.beginFor(rank);
      windows.copy(rank, {begin, begin + bytes}, output_, place);
      place += bytes;
    }
  }
  void finish() override { output_.copyBack(); }

 private:
  Flat output_;
  const std::vector<std::uint64_t> bytesFrom_;
};

class Barrier final : public Collective {
 public:
  Barrier() : Collective(Flat(), false) {}
  void take(const Windows&) override {}
};

}  // namespace

void Windows::copy(int rank, Range wanted, Flat& out, std::uint64_t place) const {
  const std::uint64_t begin = std::max(wanted.begin, range_.begin);
  const std::uint64_t end = std::min(wanted.end, range_.end);
  if (begin >= end) {
    return;
  }
  const std::uint64_t to = place + (begin - wanted.begin);
  if (rank != rank_) {
    out.write(to, end - begin, at(rank, begin));
    return;
  }
  // This rank's own tensors may be several blocks of memory; another rank's bytes are one.
  own_.forEachPart(begin, end - begin,
                   [&](const std::byte* data, std::uint64_t offset, std::uint64_t bytes) {
                     out.write(to + offset, bytes, data);
                   });
}

CollectivePtr makeBroadcast(std::vector<at::Tensor> tensors, int root, int rank) {
  return std::make_unique<Broadcast>(std::move(tensors), root, rank == root);
}

CollectivePtr makeGather(std::vector<at::Tensor> outputs, at::Tensor input) {
  return std::make_unique<Gather>(std::move(outputs), std::move(input));
}

CollectivePtr makeScatter(at::Tensor output, std::vector<at::Tensor> inputs, int root) {
  return std::make_unique<Scatter>(std::move(output), std::move(inputs), root);
}

CollectivePtr makeAlltoall(at::Tensor output, at::Tensor input, const Call& call) {
  return std::make_unique<Alltoall>(std::move(output), std::move(input), call);
}

CollectivePtr makeBarrier() {
  return std::make_unique<Barrier>();
}

}  // namespace lockstep::process_group::shared_memory
