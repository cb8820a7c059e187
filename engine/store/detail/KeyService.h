#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/store/detail/KeyTable.h"
#include "engine/store/detail/WaitQueue.h"
#include "engine/store/detail/Wire.h"

namespace lockstep::store::detail {

/// What the server of a TCPStore does with the requests of its clients, apart from sockets.
/// One thread. Note [What a request sets going] in the .cpp.
class KeyService {
 public:
  using Id = WaitQueue::Id;  ///< a client's, given by the owner
  using TimePoint = WaitQueue::TimePoint;

  /// What became of a request.
  enum class Outcome {
    kAnswered,   ///< its reply is among the messages
    kWaits,      ///< its reply comes later
    kWatches,    ///< answered, and from now on messages come unasked
    kMalformed,  ///< it breaks the rules of the wire
  };

  /// A frame for a client.
  struct Message {
    Id to = 0;
    std::string frame;
  };

  /// Carries out the content of one frame.
  Outcome execute(Id from, std::string_view content);

  /// Answers the waits whose time limit has passed.
  void expire(TimePoint now);

  /// Forgets a client that has gone.
  void forget(Id client);

  /// Returns what has to be sent since the last call, in its order.
  std::vector<Message> takeMessages() { return std::exchange(messages_, {}); }

  [[nodiscard]] std::optional<TimePoint> nextDeadline() const { return waiters_.nextDeadline(); }

 private:
  Outcome executeOnKeys(Id from, Request request, base::ByteReader reader);
  Outcome executeOnKey(Id from, Request request, base::ByteReader reader);
  Outcome setAll(Id from, const std::vector<std::string>& keys, base::ByteReader reader);
  Outcome wait(Id from, Waiter waiter);
  Outcome watch(Id from, const std::string& key);
  Outcome reply(Id to, Reply status, std::string_view fields = {});
  void replyDone(Id to, const Waiter& waiter);
  void replyLate(Id to, const Waiter& waiter);
  using ValueSizes = std::unordered_map<std::string, std::size_t>;  ///< bytes, by key
  /// Bytes of all that would be stored with these values, if they are too many.
  [[nodiscard]] std::optional<std::int64_t> overfull(const ValueSizes& sizes) const;
  void write(const std::string& key, std::optional<std::string> value);
  void wake(const std::string& key);
  void tellWatchers(const std::string& key, const std::optional<std::string>& after);

  KeyTable table_;
  WaitQueue waiters_{table_};
  std::unordered_map<std::string, std::unordered_set<Id>> watchers_;
  std::unordered_map<Id, std::string> watched_;  ///< the same by client
  std::vector<Message> messages_;
};

}  // namespace lockstep::store::detail
