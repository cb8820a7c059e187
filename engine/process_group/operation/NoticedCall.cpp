#include "engine/process_group/operation/NoticedCall.h"

#include <algorithm>
#include <utility>

#include "engine/process_group/Mismatch.h"

namespace lockstep::process_group {
namespace {

// A call this old is asked about, and again after as long.
constexpr std::chrono::milliseconds kStuck = std::chrono::seconds(1);

}  // namespace

std::optional<Told> NoticedCall::told() const {
  std::lock_guard lock(mutex_);
  return told_;
}

void NoticedCall::setTold(Told told) {
  std::lock_guard lock(mutex_);
  told_ = std::move(told);
}

std::optional<Failure> NoticedCall::mismatch(const Member& member) const {
  const std::optional<Told> heard = told();
  if (!heard) {
    return std::nullopt;
  }
  Difference found = process_group::mismatch(call, member.rank, member.size, heard->notes);
  if (found.text.empty()) {
    return std::nullopt;
  }
  return Failure{std::move(found.text), -1, CommErrorKind::kMismatch, std::move(found.culprits)};
}

bool NoticedCall::toBeAskedAbout(Clock::time_point now) const {
  return now - std::max(calledAt, askedAt) >= std::min(kStuck, limit / 4);
}

void NoticedCall::ask(const std::shared_ptr<NoticedCall>& call, NoticeBoard& board,
                      std::optional<int> peer) {
  std::optional<Place> place;
  if (peer) {
    place = Place{nameOf(call->call), *peer};
    call->placed_ = true;
  }
  call->asked_ = true;
  board.compare(call->call.sequence, note(call->call), place,
                [weak = std::weak_ptr<NoticedCall>(call)](Told told) {
                  if (const auto asked = weak.lock()) {
                    asked->setTold(std::move(told));
                  }
                });
  if (call->work->isCompleted()) {
    call->withdraw(board);  // its end may have looked before
  }
}

void NoticedCall::withdraw(NoticeBoard& board) const {
  if (asked_) {
    board.withdraw(call.sequence, placed_);
  }
}

}  // namespace lockstep::process_group
