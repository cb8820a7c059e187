#include "engine/ddp/SparseExchange.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

namespace lockstep::ddp {

namespace {

std::vector<at::Tensor> gatherAll(process_group::ProcessGroup& group, const at::Tensor& input,
                                  const process_group::CallOptions& options) {
  std::vector<at::Tensor> outputs;
  for (int rank = 0; rank < group.size(); ++rank) {
    outputs.push_back(at::empty_like(input));
  }
  group.allgather(outputs, input, options)->wait();
  return outputs;
}

}  // namespace

at::Tensor sumSparse(process_group::ProcessGroup& group, const at::Tensor& own,
                     at::IntArrayRef size, at::ScalarType type,
                     const process_group::CallOptions& options) {
  const at::Tensor mine = own.defined() ? own.coalesce() : at::Tensor();
  const std::int64_t entries = mine.defined() ? mine._nnz() : 0;
  std::vector<std::int64_t> counts;
  for (const at::Tensor& count :
       gatherAll(group, at::full({1}, entries, at::TensorOptions().dtype(at::kLong)), options)) {
    counts.push_back(count.item<std::int64_t>());
  }
  // An allgather takes as much from every rank, so that all pad to the longest.
  const std::int64_t longest = *std::max_element(counts.begin(), counts.end());
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
  const auto allIndices = gatherAll(group, indices, options);
  const bool complex = values.is_complex();
  const auto allValues = gatherAll(group, complex ? at::view_as_real(values) : values, options);
  std::vector<at::Tensor> indexParts;
  std::vector<at::Tensor> valueParts;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    indexParts.push_back(allIndices[rank].narrow(0, 0, counts[rank]));
    valueParts.push_back(allValues[rank].narrow(0, 0, counts[rank]));
  }
  const at::Tensor joined = at::cat(valueParts);
  // coalesce() adds up what several ranks have for one row, in the order of the ranks.
  return at::sparse_coo_tensor(at::cat(indexParts).unsqueeze(0),
                               complex ? at::view_as_complex(joined) : joined, size)
      .coalesce();
}

}  // namespace lockstep::ddp
