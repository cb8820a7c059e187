#include "engine/ddp/CoalescedBroadcast.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <deque>
#include <utility>

#include "engine/buckets/Assign.h"
#include "engine/ddp/TensorText.h"

namespace lockstep::ddp {

namespace {

/// One packed broadcast in flight.
class PackedBroadcast {
 public:
  PackedBroadcast(process_group::ProcessGroup& group, std::vector<at::Tensor> tensors, int root,
                  const process_group::CallOptions& options)
      : tensors_(std::move(tensors)), isRoot_(group.rank() == root) {
    // Sent and received where it lies: nothing to pack or to copy back.
    if (tensors_.size() == 1 && tensors_.front().is_contiguous()) {
      flat_ = tensors_.front();
    } else {
      std::vector<at::Tensor> parts;
      parts.reserve(tensors_.size());
      for (const at::Tensor& tensor : tensors_) {
        parts.push_back(tensor.reshape({-1}));
      }
      flat_ = at::cat(parts);
      packed_ = true;
    }
    work_ = group.broadcast({flat_}, root, options);
  }

  void finish() {
    work_->wait();
    if (!packed_ || isRoot_) {
      return;
    }
    std::int64_t offset = 0;
    for (at::Tensor& tensor : tensors_) {
      tensor.copy_(flat_.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
      offset += tensor.numel();
    }
  }

 private:
  std::vector<at::Tensor> tensors_;
  bool isRoot_;
  bool packed_ = false;
  at::Tensor flat_;
  std::shared_ptr<process_group::Work> work_;
};

}  // namespace

void broadcastCoalesced(process_group::ProcessGroup& group, const std::vector<at::Tensor>& tensors,
                        int root, std::uint64_t bytes, const process_group::CallOptions& options) {
  // As c10d: while one travels the next is packed, and no more than two packs take memory.
  constexpr std::size_t kInFlight = 2;
  at::NoGradGuard noGrad;
  std::vector<buckets::TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    specs.push_back({tensor.nbytes(), dtypeName(tensor.scalar_type()), tensor.device().str()});
  }
  std::deque<PackedBroadcast> inFlight;
  for (const auto& bucket : buckets::assignBuckets(specs, {bytes}).buckets) {
    std::vector<at::Tensor> members;
    members.reserve(bucket.parameters.size());
    for (const std::uint32_t index : bucket.parameters) {
      const at::Tensor member = tensors[index].detach();
      // No backend sends complex numbers; as pairs of reals they are the same bytes.
      members.push_back(member.is_complex() ? at::view_as_real(member) : member);
    }
    if (inFlight.size() == kInFlight) {
      inFlight.front().finish();
      inFlight.pop_front();
    }
    inFlight.emplace_back(group, std::move(members), root, options);
  }
  for (PackedBroadcast& broadcast : inFlight) {
    broadcast.finish();
  }
}

}  // namespace lockstep::ddp
