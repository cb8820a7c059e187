#include "engine/ddp/UnusedSearch.h"

#include <algorithm>
#include <unordered_set>

#include "engine/ddp/TorchCompat.h"

namespace lockstep::ddp {

std::vector<std::uint32_t> unusedParameters(const std::vector<at::Tensor>& outputs,
                                            const Accumulators& accumulators) {
  std::unordered_set<const compat::Node*> seen;
  std::vector<const compat::Node*> open;
  const auto visit = [&](const compat::Node* node) {
    if (node != nullptr && seen.insert(node).second) {
      open.push_back(node);
    }
  };
  for (const at::Tensor& output : outputs) {
    if (output.defined() && output.requires_grad()) {
      visit(compat::graphNode(output).get());
    }
  }
  // A list of nodes to visit in place of recursion: a graph can be deeper than a stack.
  while (!open.empty()) {
    const compat::Node* node = open.back();
    open.pop_back();
    for (const auto& edge : node->next_edges()) {
      visit(edge.function.get());
    }
  }
  std::vector<std::uint32_t> unused;
  for (const auto& [accumulator, index] : accumulators) {
    if (seen.count(accumulator) == 0) {
      unused.push_back(index);
    }
  }
  std::sort(unused.begin(), unused.end());
  return unused;
}

}  // namespace lockstep::ddp
