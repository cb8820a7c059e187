#include "engine/process_group/Arguments.h"

#include <fmt/format.h>

#include <numeric>
#include <sstream>
#include <stdexcept>

#include "engine/process_group/Reduction.h"

namespace lockstep::process_group {
namespace {

std::string shapeText(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.scalar_type() << ' ' << tensor.sizes();
  return text.str();
}

}  // namespace

Arguments::Arguments(std::string callee, trace::Operation operation, int groupSize, bool cpuOnly)
    : callee_(std::move(callee)), operation_(operation), groupSize_(groupSize), cpuOnly_(cpuOnly) {}

void Arguments::refuse(const std::string& text) const {
  throw std::invalid_argument(fmt::format("{}::{}: {}", callee_, trace::name(operation_), text));
}

void Arguments::tensor(const at::Tensor& tensor, const std::string& parameter) const {
  if (!tensor.defined()) {
    refuse(fmt::format("{} is an undefined tensor", parameter));
  }
  if (tensor.layout() != c10::kStrided) {
    refuse(fmt::format("{} is a sparse tensor; only dense tensors can be sent", parameter));
  }
  if (tensor.is_conj() || tensor.is_neg()) {  // what stands in its memory is another tensor
    refuse(
        fmt::format("{} is a view that conjugates or negates; pass its resolve_conj() or "
                    "resolve_neg()",
                    parameter));
  }
  if (cpuOnly_ && !tensor.device().is_cpu()) {
    refuse(fmt::format("{} is on {}; this backend takes CPU tensors", parameter,
                       tensor.device().str()));
  }
}

void Arguments::tensors(const std::vector<at::Tensor>& list, const std::string& parameter) const {
  if (list.empty()) {
    refuse(fmt::format("{} is empty; at least one tensor is needed", parameter));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    tensor(list[i], fmt::format("{}[{}]", parameter, i));
  }
}

void Arguments::sameDtype(const std::vector<at::Tensor>& list, const std::string& parameter) const {
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[i].scalar_type() != list[0].scalar_type()) {
      refuse(
          fmt::format("{0}[{1}] is {2} and {0}[0] is {3}; all tensors of one call must have "
                      "the same dtype",
                      parameter, i, c10::toString(list[i].scalar_type()),
                      c10::toString(list[0].scalar_type())));
    }
  }
}

void Arguments::onePerRank(const std::vector<at::Tensor>& list, const std::string& parameter,
                           const at::Tensor& model, const std::string& modelParameter) const {
  if (list.size() != static_cast<std::size_t>(groupSize_)) {
    refuse(fmt::format("{} has {} tensors; a group of {} ranks needs {}", parameter, list.size(),
                       groupSize_, groupSize_));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    tensor(list[i], fmt::format("{}[{}]", parameter, i));
    if (list[i].scalar_type() != model.scalar_type() || list[i].sizes() != model.sizes()) {
      refuse(fmt::format("{}[{}] is {} and {} is {}; they must be alike", parameter, i,
                         shapeText(list[i]), modelParameter, shapeText(model)));
    }
  }
}

void Arguments::noneUnlessRoot(const std::vector<at::Tensor>& list, const std::string& parameter,
                               int root) const {
  if (!list.empty()) {
    refuse(fmt::format("{} has {} tensors; it must be empty on every rank but the root, rank {}",
                       parameter, list.size(), root));
  }
}

void Arguments::rank(int rank, const std::string& parameter) const {
  if (rank < 0 || rank >= groupSize_) {
    refuse(
        fmt::format("{} is {}; ranks of this group are 0 to {}", parameter, rank, groupSize_ - 1));
  }
}

void Arguments::peer(int rank, int self, const std::string& parameter) const {
  this->rank(rank, parameter);
  if (rank == self) {
    refuse(fmt::format("{} is {}, this rank itself", parameter, rank));
  }
}

void Arguments::source(int rank, int self, const std::string& parameter) const {
  if (rank != ProcessGroup::kAnySource) {
    peer(rank, self, parameter);
  } else if (groupSize_ == 1) {
    refuse(
        fmt::format("{} is any source, and there is no other rank in a group of one", parameter));
  }
}

void Arguments::tag(int tag) const {
  if (tag < 0) {
    refuse(fmt::format("tag is {}; it must not be negative", tag));
  }
}

void Arguments::reducible(c10::ScalarType dtype, ReduceOp op) const {
  if (const std::string why = reduction::whyNot(dtype, op); !why.empty()) {
    refuse(why);
  }
}

void Arguments::splits(std::vector<std::int64_t>& splits, const at::Tensor& tensor,
                       const std::string& parameter, const std::string& tensorParameter) const {
  if (tensor.dim() == 0) {
    refuse(fmt::format("{} has no dimension to split", tensorParameter));
  }
  const std::int64_t rows = tensor.size(0);
  if (splits.empty()) {
    if (rows % groupSize_ != 0) {
      refuse(fmt::format("{} has {} rows, which do not divide into {} equal parts; give {}",
                         tensorParameter, rows, groupSize_, parameter));
    }
    splits.assign(static_cast<std::size_t>(groupSize_), rows / groupSize_);
    return;
  }
  if (splits.size() != static_cast<std::size_t>(groupSize_)) {
    refuse(fmt::format("{} has {} entries; a group of {} ranks needs {}", parameter, splits.size(),
                       groupSize_, groupSize_));
  }
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] < 0) {
      refuse(fmt::format("{}[{}] is {}; it must not be negative", parameter, i, splits[i]));
    }
  }
  const std::int64_t sum = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  if (sum != rows) {
    refuse(fmt::format("{} adds up to {} rows; {} has {}", parameter, sum, tensorParameter, rows));
  }
}

void Arguments::timeout(std::chrono::milliseconds timeout) const {
  if (timeout.count() < 0) {
    refuse(fmt::format("timeout is {} ms; it must not be negative", timeout.count()));
  }
}

}  // namespace lockstep::process_group
