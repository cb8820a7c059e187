#include "engine/ddp/SparseExchange.h"

#include <ATen/ATen.h>

#include <vector>

#include "engine/ddp/GatherAll.h"

namespace lockstep::ddp {

at::Tensor sumSparse(process_group::ProcessGroup& group, const at::Tensor& own,
                     at::IntArrayRef size, at::ScalarType type,
                     const process_group::CallOptions& options) {
  const at::Tensor mine = own.defined() ? own.coalesce() : at::Tensor();
  const std::int64_t entries = mine.defined() ? mine._nnz() : 0;
  const at::Tensor counts = gatherAll(group, at::full({1}, entries, at::kLong), options);
  const auto longest = counts.max().item<std::int64_t>();
  const auto ofType = at::TensorOptions().dtype(type);
  // Every rank sees this, and none calls the collectives below.
  if (longest == 0) {
    return at::sparse_coo_tensor(size, ofType).coalesce();
  }
  std::vector<std::int64_t> shape(size.begin(), size.end());
  shape[0] = longest;
  at::Tensor indices = at::zeros({longest}, at::TensorOptions().dtype(at::kLong));
  at::Tensor values = at::zeros(shape, ofType);
  if (entries > 0) {
    indices.narrow(0, 0, entries).copy_(mine._indices().select(0, 0));
    values.narrow(0, 0, entries).copy_(mine._values());
  }
  const at::Tensor allIndices = gatherAll(group, indices, options);
  const bool complex = values.is_complex();
  const at::Tensor allValues =
      gatherAll(group, complex ? at::view_as_real(values) : values, options);
  std::vector<at::Tensor> indexParts;
  std::vector<at::Tensor> valueParts;
  for (std::int64_t rank = 0; rank < group.size(); ++rank) {
    const auto count = counts[rank].item<std::int64_t>();
    indexParts.push_back(allIndices[rank].narrow(0, 0, count));
    valueParts.push_back(allValues[rank].narrow(0, 0, count));
  }
  const at::Tensor joined = at::cat(valueParts);
  // coalesce() adds up what several ranks have for one row, in the order of the ranks.
  return at::sparse_coo_tensor(at::cat(indexParts).unsqueeze(0),
                               complex ? at::view_as_complex(joined) : joined, size)
      .coalesce();
}

}  // namespace lockstep::ddp
