#include "engine/data_parallel/ScatterGather.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/data_parallel/Coalesce.h"

namespace lockstep::data_parallel {

namespace {

std::string sizesOf(const at::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes(), ", "));
}

/// Refuses inputs that cannot be cut; returns how many replicas get a piece.
std::size_t piecesOf(const Tree& inputs, std::size_t devices, std::int64_t dim) {
  std::string firstPath;
  std::size_t count = 0;
  inputs.visitTensors("input", [&](const std::string& path, const at::Tensor& tensor) {
    if (!tensor.defined()) {
      return;
    }
    if (tensor.dim() == 0 || dim >= tensor.dim() || dim < -tensor.dim()) {
      throw DataParallelError(fmt::format(
          "{} {} has no dimension {} to be cut along; give the forward a value instead of a "
          "tensor, or a tensor with one entry a sample",
          path, sizesOf(tensor), dim));
    }
    const auto rows = tensor.size(dim);
    const auto wanted = static_cast<std::int64_t>(devices);
    // torch.chunk's rule: 5 rows for 4 devices are pieces of 2, 2 and 1.
    const auto each = std::max<std::int64_t>((rows + wanted - 1) / wanted, 1);
    const auto pieces = rows == 0 ? devices : static_cast<std::size_t>((rows + each - 1) / each);
    if (firstPath.empty()) {
      firstPath = fmt::format("{} {}", path, sizesOf(tensor));
      count = pieces;
    } else if (pieces != count) {
      throw DataParallelError(fmt::format(
          "inputs give different numbers of pieces along dimension {}: {} {} gives {}, {} gives "
          "{}; all tensors need one entry a sample",
          dim, path, sizesOf(tensor), pieces, firstPath, count));
    }
  });
  if (!firstPath.empty()) {
    return count;
  }
  const bool nothing = inputs.isNone() || (inputs.ifList() != nullptr && inputs.list().empty()) ||
                       (inputs.ifMap() != nullptr && inputs.map().empty());
  // Values that are no tensors cannot be cut, so that every device gets all of them.
  return nothing ? 1 : devices;
}

/// The pieces of one tensor, by replica.
std::vector<at::Tensor> cut(const at::Tensor& tensor, std::size_t count, std::size_t devices,
                            std::int64_t dim) {
  if (!tensor.defined()) {
    return std::vector<at::Tensor>(count);
  }
  return tensor.detach().chunk(static_cast<std::int64_t>(devices), dim);
}

/// A tensor or nothing at `path` on every replica, below trees of the same shape.
Tree gatherAt(const std::string& path, const std::vector<const Tree*>& trees,
              const std::vector<Device>& devices,
              const std::function<Tree(const std::string&, std::vector<at::Tensor>)>& join) {
  const Tree& first = *trees.front();
  const auto mismatch = [&](std::size_t replica) {
    throw DataParallelError(
        fmt::format("{} is {} on device {} and {} on device {}; replicas must "
                    "return the same structure",
                    path, first.describe(), devices.front().name(), trees[replica]->describe(),
                    devices[replica].name()));
  };
  const auto below = [&](const std::string& inner, const auto& pick) {
    std::vector<const Tree*> items;
    for (const Tree* tree : trees) {
      items.push_back(&pick(*tree));
    }
    return gatherAt(inner, items, devices, join);
  };
  for (std::size_t replica = 1; replica < trees.size(); ++replica) {
    if (trees[replica]->describe() != first.describe()) {
      mismatch(replica);
    }
  }
  if (first.isNone()) {
    return first;
  }
  if (first.ifTensor() != nullptr) {
    std::vector<at::Tensor> parts;
    for (const Tree* tree : trees) {
      parts.push_back(tree->tensor());
    }
    return join(path, std::move(parts));
  }
  if (first.ifList() != nullptr) {
    Tree::List joined;
    for (std::size_t i = 0; i < first.list().size(); ++i) {
      joined.push_back(below(fmt::format("{}[{}]", path, i),
                             [i](const Tree& tree) -> const Tree& { return tree.list()[i]; }));
    }
    return {std::move(joined)};
  }
  if (first.ifMap() != nullptr) {
    Tree::Map joined;
    for (const auto& [key, item] : first.map()) {
      joined.emplace(
          key, below(fmt::format("{}.{}", path, key),
                     [&key = key, &path, &devices, &trees](const Tree& tree) -> const Tree& {
                       if (tree.map().count(key) == 0) {
                         throw DataParallelError(
                             fmt::format("{} has no '{}' on every device; replicas must return "
                                         "the same keys",
                                         path, key));
                       }
                       return tree.map().at(key);
                     }));
    }
    return {std::move(joined)};
  }
  throw DataParallelError(
      fmt::format("{} is no tensor and cannot be joined; return tensors, in lists or maps", path));
}

/// Joins one tensor's parts. Gradient mode is off.
GatheredTensor joinTensor(const std::string& path, std::vector<at::Tensor> parts,
                          const std::vector<Device>& devices, const Device& to, std::int64_t dim,
                          std::uint64_t& bytes) {
  GatheredTensor gathered;
  const at::Tensor& first = parts.front();
  const bool scalars = std::all_of(parts.begin(), parts.end(), [](const at::Tensor& part) {
    return part.defined() && part.dim() == 0;
  });
  std::vector<at::Tensor> here;
  for (std::size_t replica = 0; replica < parts.size(); ++replica) {
    const at::Tensor& part = parts[replica];
    // Undefined everywhere stays undefined, below; on some replicas alone it cannot be joined.
    if (part.defined() != first.defined()) {
      throw DataParallelError(fmt::format("{} is undefined on some replicas only", path));
    }
    if (!part.defined()) {
      return {std::move(parts), {}, false};
    }
    const bool axisFits = scalars || (dim < part.dim() && dim >= -part.dim());
    bool fits = axisFits && part.dim() == first.dim() && part.scalar_type() == first.scalar_type();
    const auto axis = fits && !scalars ? (dim + part.dim()) % part.dim() : 0;
    for (std::int64_t i = 0; fits && i < part.dim(); ++i) {
      fits = i == axis || part.size(i) == first.size(i);
    }
    if (!fits) {
      throw DataParallelError(fmt::format(
          "{} cannot be joined along dimension {}: {} {} on device {}, {} {} on device {}", path,
          dim, c10::toString(first.scalar_type()), sizesOf(first), devices.front().name(),
          c10::toString(part.scalar_type()), sizesOf(part), devices[replica].name()));
    }
    const at::Tensor copy = copyTo(part.detach(), devices[replica], to, bytes);
    here.push_back(scalars ? copy.reshape({1}) : copy);
  }
  gathered.whole = at::cat(here, scalars ? 0 : dim);
  gathered.fromScalars = scalars;
  gathered.parts = std::move(parts);
  return gathered;
}

}  // namespace

Scattered scatter(const Tree& inputs, const std::vector<Device>& devices, std::int64_t dim) {
  Scattered scattered;
  const std::size_t count = piecesOf(inputs, devices.size(), dim);
  const bool grad = c10::GradMode::is_enabled();
  std::vector<std::vector<at::Tensor>> cuts;  // [tensor of the tree][replica]
  inputs.visitTensors("input", [&](const std::string&, const at::Tensor& tensor) {
    std::vector<at::Tensor> pieces = cut(tensor, count, devices.size(), dim);
    const bool track = grad && tensor.defined() && tensor.requires_grad();
    TrackedInput tracked{tensor, {}};
    for (std::size_t replica = 0; replica < pieces.size(); ++replica) {
      at::Tensor& piece = pieces[replica];
      if (!piece.defined()) {
        continue;
      }
      if (track) {
        // A forward may change its input in place, which a leaf does not allow: each replica
        // gets a copy, which is the one to its device wherever that is another.
        const std::uint64_t before = scattered.bytes;
        at::Tensor leaf = piece.detach().requires_grad_(true);
        piece = copyTo(leaf, devices.front(), devices[replica], scattered.bytes);
        if (scattered.bytes == before) {
          piece = leaf.clone();
        }
        tracked.leaves.push_back(std::move(leaf));
      } else {
        piece = copyTo(piece, devices.front(), devices[replica], scattered.bytes);
      }
    }
    if (track) {
      scattered.tracked.push_back(std::move(tracked));
    }
    cuts.push_back(std::move(pieces));
  });
  for (std::size_t replica = 0; replica < count; ++replica) {
    std::size_t next = 0;
    scattered.pieces.push_back(
        inputs.mapTensors([&](const at::Tensor&) { return Tree(cuts[next++][replica]); }));
  }
  return scattered;
}

Gathered gather(const std::vector<Tree>& outputs, const std::vector<Device>& devices,
                const Device& to, std::int64_t dim) {
  // The outputs get their place in the graph afterwards, all at once (connect()).
  at::NoGradGuard noGrad;
  Gathered gathered;
  std::vector<const Tree*> trees;
  for (const Tree& output : outputs) {
    trees.push_back(&output);
  }
  gathered.shape = gatherAt(
      "output", trees, devices, [&](const std::string& path, std::vector<at::Tensor> parts) {
        gathered.tensors.push_back(
            joinTensor(path, std::move(parts), devices, to, dim, gathered.bytes));
        return Tree(gathered.tensors.back().whole);
      });
  return gathered;
}

std::vector<at::Tensor> scatterGradient(const GatheredTensor& gathered, const at::Tensor& gradient,
                                        const std::vector<Device>& devices, const Device& from,
                                        std::int64_t dim, std::uint64_t& bytes) {
  std::vector<at::Tensor> parts;
  std::int64_t offset = 0;
  for (std::size_t replica = 0; replica < gathered.parts.size(); ++replica) {
    const at::Tensor& part = gathered.parts[replica];
    const std::int64_t size = gathered.fromScalars ? 1 : part.size(dim);
    at::Tensor mine = gradient.narrow(gathered.fromScalars ? 0 : dim, offset, size);
    offset += size;
    if (gathered.fromScalars) {
      mine = mine.reshape({});
    }
    parts.push_back(copyTo(mine, from, devices[replica], bytes));
  }
  return parts;
}

at::Tensor gatherGradient(const TrackedInput& tracked, const std::vector<Device>& devices,
                          std::int64_t dim, std::uint64_t& bytes) {
  std::vector<at::Tensor> parts;
  for (std::size_t replica = 0; replica < tracked.leaves.size(); ++replica) {
    const at::Tensor& leaf = tracked.leaves[replica];
    const at::Tensor gradient = leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf);
    // The leaf lies where the input does; what crossed is the piece's gradient.
    bytes += devices[replica].isSameAs(devices.front()) ? 0 : gradient.nbytes();
    parts.push_back(gradient);
  }
  return at::cat(parts, dim);
}

}  // namespace lockstep::data_parallel
