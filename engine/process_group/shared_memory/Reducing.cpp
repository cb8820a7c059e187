// Collectives that reduce. All combine the elements of the ranks in rank order, however they are
// cut: see Note [Order of reduction].

#include <algorithm>
#include <cstring>

#include "engine/process_group/shared_memory/Collective.h"

namespace lockstep::process_group::shared_memory {
namespace {

class Reduction final : public Collective {
 public:
  // `takes` is what this rank reduces of what all show; into its own bytes, or into `output`.
  Reduction(const Call& call, Flat own, bool shows, Range takes, Flat output = {})
      : Collective(std::move(own), shows),
        kernel_(Kernel::of(call.dtype, call.reduce)),
        inPlace_(call.operation == trace::Operation::kAllreduce),
        takes_(takes),
        output_(std::move(output)) {}

  void take(const Windows& windows) override {
    const Range range{std::max(windows.range().begin, takes_.begin),
                      std::min(windows.range().end, takes_.end)};
    if (range.begin < range.end) {
      reduce(kernel_, windows, range, out().at(range.begin - takes_.begin));
    }
  }
  void finish() override {
    if (takes_.begin < takes_.end) {
      out().copyBack();
    }
  }
  [[nodiscard]] const Kernel* reducesInPlace() const override {
    return inPlace_ ? &kernel_ : nullptr;
  }

 private:
  Flat& out() { return output_.bytes() != 0 ? output_ : own_; }

  const Kernel kernel_;
  const bool inPlace_;
  const Range takes_;
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

CollectivePtr makeReduction(const Request& request, int rank) {
  using Access = Flat::Access;
  const Call& call = request.call;
  if (call.operation == trace::Operation::kReduceScatter) {
    const std::uint64_t begin = call.bytes * static_cast<std::uint64_t>(rank);
    return std::make_unique<Reduction>(call, Flat(request.inputs, Access::kRead), true,
                                       Range{begin, begin + call.bytes},
                                       Flat(request.outputs, Access::kWrite));
  }
  if (call.operation == trace::Operation::kAllreduce) {
    return std::make_unique<Reduction>(call, Flat::joined(request.outputs), true,
                                       Range{0, call.bytes});
  }
  const bool atRoot = rank == call.root;
  return std::make_unique<Reduction>(
      call, Flat(request.outputs, atRoot ? Access::kReadWrite : Access::kRead), !atRoot,
      Range{0, atRoot ? call.bytes : 0});
}

}  // namespace lockstep::process_group::shared_memory
