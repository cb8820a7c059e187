#include "engine/ddp/GatherAll.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace lockstep::ddp {

at::Tensor gatherAll(process_group::ProcessGroup& group, const at::Tensor& own,
                     const process_group::CallOptions& options) {
  std::vector<std::int64_t> shape = own.sizes().vec();
  shape.insert(shape.begin(), group.size());
  at::Tensor all = at::empty(shape, own.options());
  group.allgather(all.unbind(0), own, options)->wait();
  return all;
}

std::vector<std::string> gatherTexts(process_group::ProcessGroup& group, const std::string& text,
                                     Readers readers) {
  const at::Tensor sizes =
      gatherAll(group, at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong));
  const auto longest = sizes.max().item<std::int64_t>();
  const bool everywhere = readers == Readers::kAll;
  const at::Tensor all =
      at::empty({everywhere || group.rank() == 0 ? group.size() : 0, longest}, at::kByte);
  if (longest > 0) {
    // Texts of one length, since a gather wants that.
    const at::Tensor padded = at::zeros({longest}, at::kByte);
    std::copy(text.begin(), text.end(), padded.data_ptr<std::uint8_t>());
    (everywhere ? group.allgather(all.unbind(0), padded) : group.gather(all.unbind(0), padded, 0))
        ->wait();
  }
  std::vector<std::string> texts;
  for (std::int64_t rank = 0; rank < all.size(0); ++rank) {
    const auto* data = all[rank].data_ptr<std::uint8_t>();
    texts.emplace_back(data, data + sizes[rank].item<std::int64_t>());
  }
  return texts;
}

}  // namespace lockstep::ddp
