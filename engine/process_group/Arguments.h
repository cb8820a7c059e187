#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group {

/// Checks the arguments of one call. Every refusal throws std::invalid_argument with the text
/// "<callee>::<operation>: <parameter> ...", so that it names what the caller wrote.
class Arguments {
 public:
  /// `cpuOnly`: refuse tensors of other devices.
  Arguments(std::string callee, trace::Operation operation, int groupSize, bool cpuOnly = true);

  [[noreturn]] void refuse(const std::string& text) const;

  /// A defined dense tensor.
  void tensor(const at::Tensor& tensor, const std::string& parameter) const;
  /// At least one tensor, each as above.
  void tensors(const std::vector<at::Tensor>& tensors, const std::string& parameter) const;
  void sameDtype(const std::vector<at::Tensor>& tensors, const std::string& parameter) const;
  /// `count` tensors (one a rank), each like `model` in dtype and shape.
  void onePerRank(const std::vector<at::Tensor>& tensors, const std::string& parameter,
                  const at::Tensor& model, const std::string& modelParameter) const;
  /// No tensors at all: this rank is not the root.
  void noneUnlessRoot(const std::vector<at::Tensor>& tensors, const std::string& parameter,
                      int root) const;
  void rank(int rank, const std::string& parameter) const;
  /// A rank other than this one.
  void peer(int rank, int self, const std::string& parameter) const;
  /// A peer, or ProcessGroup::kAnySource where there is another rank.
  void source(int rank, int self, const std::string& parameter) const;
  void tag(int tag) const;
  void reducible(c10::ScalarType dtype, ReduceOp op) const;
  /// Fills empty `splits` with equal parts; checks that they cover dimension 0 of `tensor`.
  void splits(std::vector<std::int64_t>& splits, const at::Tensor& tensor,
              const std::string& parameter, const std::string& tensorParameter) const;
  void timeout(std::chrono::milliseconds timeout) const;

 private:
  std::string callee_;
  trace::Operation operation_;
  int groupSize_;
  bool cpuOnly_;
};

}  // namespace lockstep::process_group
