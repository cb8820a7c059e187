#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/process_group/gloo/Collectives.h"

namespace lockstep::process_group::gloo {

/// Shows a tensor as one block of memory: its own if it is contiguous, else a copy.
class Staged {
 public:
  /// Reads the tensor into the copy, where one is needed, when `read` is set.
  Staged(at::Tensor tensor, bool read);

  [[nodiscard]] Block block() const;
  /// Writes the copy, if there is one, into the tensor.
  void copyBack();

 private:
  at::Tensor tensor_;
  at::Tensor flat_;
};

/// The same for a list.
class StagedList {
 public:
  StagedList(const std::vector<at::Tensor>& tensors, bool read);
  [[nodiscard]] std::vector<Block> blocks() const;
  void copyBack();

 private:
  std::vector<Staged> staged_;
};

/// Shows several tensors of one dtype as one block: the tensor's own memory if it is one and
/// contiguous, else a copy of all, one after the other.
class Coalesced {
 public:
  explicit Coalesced(const std::vector<at::Tensor>& tensors);

  [[nodiscard]] Block block() const;
  void copyBack();

 private:
  std::vector<at::Tensor> tensors_;
  at::Tensor flat_;
  bool copied_ = false;
};

}  // namespace lockstep::process_group::gloo
