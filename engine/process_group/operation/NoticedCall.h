#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "engine/process_group/NoticeBoard.h"
#include "engine/process_group/operation/Member.h"
#include "engine/process_group/operation/OpenCall.h"

namespace lockstep::process_group {

/// An open call that the notice board is asked about while it does not end: what the other ranks
/// have called, and where they are.
class NoticedCall : public OpenCall {
 public:
  using OpenCall::OpenCall;

  /// What the board answered last, if it was asked and did. [any-thread]
  [[nodiscard]] std::optional<Told> told() const;
  /// That the others did not make the same call, if the board has said so. [any-thread]
  [[nodiscard]] std::optional<Failure> mismatch(const Member& member) const;

  /// Whether it is old enough to be asked about, for the first time or again. The watch's own, as
  /// askedAt.
  [[nodiscard]] bool toBeAskedAbout(Clock::time_point now) const;
  Clock::time_point askedAt{};

  /// Asks about `call`. `peer` says that this rank is stuck in it, waiting for that rank or, at -1,
  /// for whoever; nothing says that it only waits behind another.
  static void ask(const std::shared_ptr<NoticedCall>& call, NoticeBoard& board,
                  std::optional<int> peer);
  /// Takes back what stands on the board about a call that has ended. [any-thread]
  void withdraw(NoticeBoard& board) const;

 private:
  void setTold(Told told);

  std::atomic<bool> asked_{false};   // it stands on the board
  std::atomic<bool> placed_{false};  // there as the place where this rank is, too
  std::optional<Told> told_;
};

}  // namespace lockstep::process_group
