#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/Failure.h"
#include "engine/store/Store.h"

namespace lockstep::process_group {

/// Where a rank is stuck.
struct Place {
  std::string call;  ///< "allreduce #5"
  int peer = -1;     ///< whom it waits for there
};

/// What the other ranks have said about an operation, and about where they are themselves.
struct Told {
  std::vector<std::pair<int, std::string>> notes;  ///< by rank: their calls of this number
  std::map<int, Place> places;                     ///< of those that are stuck anywhere
};

/// What ranks tell each other through the store when something is wrong: which call a rank is
/// stuck in, and why a rank gave up. The store may be as dead as the peer, so all talk with it
/// happens on a thread of its own that nobody waits for longer than he says. [any-thread]
class NoticeBoard {
 public:
  using Reasons = std::vector<std::pair<int, Failure>>;  ///< by rank, this rank's not among them

  /// `group` opens the keys: "gloo/default".
  NoticeBoard(std::shared_ptr<store::Store> store, const std::string& group, int rank, int size);
  ~NoticeBoard();
  NoticeBoard(const NoticeBoard&) = delete;
  NoticeBoard& operator=(const NoticeBoard&) = delete;

  /// Writes that this rank is in operation `sequence`, called as `note` says, and if given, that
  /// this is the place where it is; hands `done` what the others wrote. `done` runs on the
  /// board's thread, if the store answers.
  void compare(std::uint64_t sequence, const std::string& note, const std::optional<Place>& place,
               std::function<void(Told)> done);

  /// Withdraws what compare() wrote; the place only if it was given.
  void withdraw(std::uint64_t sequence, bool place);

  /// Writes why this rank gives up; returns whether it stood there within `patience`.
  bool announce(const Failure& reason, std::chrono::milliseconds patience);

  /// Returns the reasons that others have written, if the store answers within `patience`.
  Reasons reasons(std::chrono::milliseconds patience);

 private:
  struct State;
  using Task = std::function<void(store::Store&)>;
  void post(Task task);
  bool run(Task task, std::chrono::milliseconds patience);

  std::shared_ptr<State> state_;
  std::string prefix_;
  int rank_;
  int size_;
};

}  // namespace lockstep::process_group
