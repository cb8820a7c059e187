#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/process_group/shared_memory/Dispatcher.h"

namespace lockstep::process_group::shared_memory {

// Note [Send and recv]
// A send is announced by an offer over the mesh: tag, dtype, elements, and the data itself when it
// is small (Message::kMostBody), else where it lies: in the tensor's own segment, or copied into
// one that is kept for later sends. The receiver matches offers with its receives by source and
// tag, in the order of the calls, copies the data out, and answers, which ends the send. What does
// not fit is refused before the receiver's tensor is touched; both then fail alone. An offer that
// comes before its receive is kept; the receiving call then takes the data itself.

/// send and recv of a group. [any-thread]
class PointToPoint {
 public:
  PointToPoint(std::shared_ptr<Dispatcher> dispatcher, std::shared_ptr<Mesh> mesh,
               std::shared_ptr<Directory> directory);

  OperationPtr send(Call call, at::Tensor tensor, int tag, std::chrono::milliseconds limit);
  /// call.root is the source, or -1 for any.
  OperationPtr receive(Call call, at::Tensor tensor, int tag, std::chrono::milliseconds limit);

  /// An offer, or the answer to one, has come. The watch's thread.
  void arrived(int rank, Message message);
  /// A rank is gone, for this reason.
  void lose(int rank, const Failure& failure);
  /// Gives back what has failed.
  void endFailed();

 private:
  struct Outgoing {
    OperationPtr operation;
    at::Tensor tensor;                 ///< exposed as it lies
    std::shared_ptr<Segment> segment;  ///< or the copy
  };
  struct Wanted {
    OperationPtr operation;
    at::Tensor tensor;
    std::uint32_t tag = 0;

    [[nodiscard]] bool takes(int source, const Message::Header& offer) const {
      return tag == offer.tag && (operation->call.root < 0 || operation->call.root == source);
    }
  };
  struct Offer {
    int source = -1;
    Message message;
  };

  void layOut(Outgoing& outgoing, Message& offer);
  std::shared_ptr<Segment> borrow(std::uint64_t bytes);
  void giveBack(std::shared_ptr<Segment> segment);
  void transfer(const Wanted& wanted, int source, const Message& offer);
  void endOutgoing(int rank, const Message::Header& answer);
  void failOne(const OperationPtr& operation, const Failure& failure);

  const std::shared_ptr<Dispatcher> dispatcher_;
  const std::shared_ptr<Mesh> mesh_;
  const std::shared_ptr<Directory> directory_;

  std::mutex mutex_;
  std::map<std::uint64_t, Outgoing> outgoing_;
  std::deque<Wanted> wanted_;
  std::deque<Offer> offers_;
  std::map<int, Failure> gone_;
  std::vector<std::shared_ptr<Segment>> spare_;
  std::uint64_t ids_ = 0;
};

}  // namespace lockstep::process_group::shared_memory
