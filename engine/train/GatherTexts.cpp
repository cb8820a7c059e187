#include "engine/train/GatherTexts.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace lockstep::train {

std::vector<std::string> gatherTexts(process_group::ProcessGroup& group, const std::string& text) {
  const auto size = static_cast<std::size_t>(group.size());
  const at::Tensor own = at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong);
  std::vector<at::Tensor> sizes;
  for (std::size_t rank = 0; rank < size; ++rank) {
    sizes.push_back(at::empty({1}, at::kLong));
  }
  group.allgather(sizes, own)->wait();
  std::int64_t longest = 0;
  for (const at::Tensor& bytes : sizes) {
    longest = std::max(longest, bytes.item<std::int64_t>());
  }
  // The second collective is left out on all ranks alike: they have the same sizes.
  if (longest == 0) {
    return std::vector<std::string>(group.rank() == 0 ? size : 0);
  }
  // Texts of one length, since a gather wants that.
  const at::Tensor padded = at::zeros({longest}, at::kByte);
  std::copy(text.begin(), text.end(), padded.data_ptr<std::uint8_t>());
  std::vector<at::Tensor> all;
  for (std::size_t rank = 0; group.rank() == 0 && rank < size; ++rank) {
    all.push_back(at::empty({longest}, at::kByte));
  }
  group.gather(all, padded, 0)->wait();
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto* data = all[rank].data_ptr<std::uint8_t>();
    texts.emplace_back(data, data + sizes[rank].item<std::int64_t>());
  }
  return texts;
}

}  // namespace lockstep::train
