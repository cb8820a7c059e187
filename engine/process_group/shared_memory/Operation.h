#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/process_group/operation/OpenCall.h"
#include "engine/process_group/shared_memory/Board.h"
#include "engine/process_group/shared_memory/Collective.h"

namespace lockstep::process_group::shared_memory {

/// An open call with what it does on the board.
class Operation final : public OpenCall {
 public:
  Operation(Call call, std::chrono::milliseconds limit, CollectivePtr collective)
      : OpenCall(std::move(call), limit), collective_(std::move(collective)) {}

  /// Number of a collective on the board; it is the sequence number.
  [[nodiscard]] std::uint64_t order() const { return call.sequence; }
  /// Null for send and recv, and once it has ended.
  [[nodiscard]] Collective* collective() const { return collective_.get(); }
  [[nodiscard]] CollectivePtr takeCollective() { return std::move(collective_); }

  /// Gives the work its value or its error; its callbacks run.
  void settle() { failed() ? work->fail(error()) : work->succeed(); }

  // The Dispatcher's, under its mutex.
  Source source = Source::kNone;     ///< how this rank shows its bytes; does not change
  std::shared_ptr<Segment> exposed;  ///< which segment holds them, for kExposed
  bool posted = false;               ///< it stands on the board
  bool handed = false;               ///< its callbacks are the communication thread's
  bool settling = false;             ///< who has ended it is about to tell the work
  bool settled = false;              ///< and the work knows

  // Its driver's.
  std::uint32_t meetings = 1;  ///< of all ranks; the first is their arrival
  std::uint32_t blocks = 0;    ///< of a common reduction

 private:
  CollectivePtr collective_;
};

using OperationPtr = std::shared_ptr<Operation>;

}  // namespace lockstep::process_group::shared_memory
