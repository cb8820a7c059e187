#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/process_group/operation/Messages.h"
#include "engine/process_group/shared_memory/Dispatcher.h"

namespace lockstep::process_group::shared_memory {

/// A send that has not been answered.
struct Outgoing : Direct<Operation> {
  std::shared_ptr<Segment> segment;  ///< the copy, where the tensor is not exposed as it lies
};

// Note [Send and recv]
// An offer over the mesh has the data itself when it is small (Message::kMostBody), else where it
// lies: in the tensor's own segment, or copied into one that is kept for later sends. The receiver
// copies the data out. A receive that comes after its offer takes the data in its call.

/// send and recv of a group. [any-thread]
class PointToPoint final : public Messages<Operation, Outgoing, Message> {
 public:
  PointToPoint(std::shared_ptr<Dispatcher> dispatcher, std::shared_ptr<Mesh> mesh,
               std::shared_ptr<Directory> directory);

  /// A send, or a receive from call.root, or -1 for any.
  OperationPtr start(Call call, at::Tensor tensor, int tag, std::chrono::milliseconds limit);

  /// A rank is gone, for this reason.
  void lose(int rank, const Failure& failure);

 private:
  Failure send(Direct<Operation> direct);
  Failure receive(Direct<Operation> direct);
  void layOut(Outgoing& outgoing, Message& offer);
  std::shared_ptr<Segment> borrow(std::uint64_t bytes);
  [[nodiscard]] Failure whyGone(int rank) const;

  void take(Direct<Operation>& receive, int source, Message& offer) override;
  void answer(int peer, const Message::Header& header) override;
  void release(Outgoing& outgoing, bool accepted) override;
  void end(const Direct<Operation>& direct, const std::optional<Failure>& alone) override;

  const std::shared_ptr<Dispatcher> dispatcher_;
  const std::shared_ptr<Mesh> mesh_;
  const std::shared_ptr<Directory> directory_;
  // Under the mutex.
  std::map<int, Failure> gone_;
  std::vector<std::shared_ptr<Segment>> spare_;
};

}  // namespace lockstep::process_group::shared_memory
