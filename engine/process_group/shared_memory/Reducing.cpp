// Collectives that reduce. All combine the elements of the ranks in rank order, however they are
// cut: see Note [Order of reduction].

#include <algorithm>
#include <cstring>

#include "engine/process_group/shared_memory/Collective.h"

namespace lockstep::process_group::shared_memory {
namespace {

class Allreduce final : public Collective {
 public:
  Allreduce(std::vector<at::Tensor> tensors, ReduceOp op)
      : Collective(Flat::joined(tensors), true),
        kernel_(Kernel::of(tensors[0].scalar_type(), op)) {}

  void take(const Windows& windows) override {
    if (own_.bytes() != 0) {
      reduce(kernel_, windows, {0, own_.bytes()}, own_.at(0));
    }
  }
  void finish() override { own_.copyBack(); }
  [[nodiscard]] const Kernel* reducesInPlace() const override { return &kernel_; }

 private:
  const Kernel kernel_;
};

class Reduce final : public Collective {
 public:
  Reduce(at::Tensor tensor, ReduceOp op, bool atRoot)
      : Collective(Flat({tensor}, atRoot ? Flat::Access::kReadWrite : Flat::Access::kRead),
                   !atRoot),
        kernel_(Kernel::of(tensor.scalar_type(), op)),
        atRoot_(atRoot) {}

  void take(const Windows& windows) override {
    const Range range{windows.range().begin, std::min(windows.range().end, own_.bytes())};
    if (atRoot_ && range.begin < range.end) {
      reduce(kernel_, windows, range, own_.at(range.begin));
    }
  }
  void finish() override {
    if (atRoot_) {
      own_.copyBack();
    }
  }

 private:
  const Kernel kernel_;
  const bool atRoot_;
};

class ReduceScatter final : public Collective {
 public:
  ReduceScatter(at::Tensor output, std::vector<at::Tensor> inputs, ReduceOp op)
      : Collective(Flat(std::move(inputs), Flat::Access::kRead), true),
        kernel_(Kernel::of(output.scalar_type(), op)),
        output_({output}, Flat::Access::kWrite) {}

  void take(const Windows& windows) override {
    const std::uint64_t piece = output_.bytes();
    const std::uint64_t mine = piece * static_cast<std::uint64_t>(windows.rank());
    const Range range{std::max(windows.range().begin, mine),
                      std::min(windows.range().end, mine + piece)};
    if (range.begin < range.end) {
      reduce(kernel_, windows, range, output_.at(range.begin - mine));
    }
  }
  void finish() override { output_.copyBack(); }

 private:
  const Kernel kernel_;
  Flat output_;
};

}  // namespace

void reduce(const Kernel& kernel, const Windows& windows, Range range, std::byte* out) {
  if (windows.size() == 1) {
    // memmove: a group of one may reduce a tensor onto itself.
    std::memmove(out, windows.at(0, range.begin), range.end - range.begin);
    return;
  }
  std::vector<const void*> sources;
  for (int rank = 0; rank < windows.size(); ++rank) {
    sources.push_back(windows.at(rank, range.begin));
  }
  kernel.combine(out, sources.data(), windows.size(),
                 (range.end - range.begin) / kernel.elementSize, windows.size());
}

CollectivePtr makeAllreduce(std::vector<at::Tensor> tensors, ReduceOp op) {
  return std::make_unique<Allreduce>(std::move(tensors), op);
}

CollectivePtr makeReduce(at::Tensor tensor, int root, ReduceOp op, int rank) {
  return std::make_unique<Reduce>(std::move(tensor), op, rank == root);
}

CollectivePtr makeReduceScatter(at::Tensor output, std::vector<at::Tensor> inputs, ReduceOp op) {
  return std::make_unique<ReduceScatter>(std::move(output), std::move(inputs), op);
}

}  // namespace lockstep::process_group::shared_memory
