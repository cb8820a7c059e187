#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/detail/Deadline.h"
#include "engine/store/detail/Socket.h"
#include "engine/store/detail/Wire.h"

namespace lockstep::store::detail {

/// A reply of the server, and the operation it answers, for messages.
class Answer {
 public:
  Answer(std::string place, std::string operation, Reply status, std::string fields);

  [[nodiscard]] Reply status() const { return status_; }

  // Each takes the whole reply; throws StoreError when it cannot be read so.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::int64_t number() const;
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::vector<std::string> values(std::size_t count) const;

 private:
  [[noreturn]] void malformed() const;

  std::string place_;
  std::string operation_;
  Reply status_;
  std::string fields_;
};

/// The connections of a TCPStore to its server: each call has one of its own while it lasts, so
/// that a call that waits holds up no other. [any-thread]
class TcpClient {
 public:
  using Milliseconds = std::chrono::milliseconds;

  TcpClient(std::string host, std::uint16_t port, const std::string& token);

  /// Sends a request and takes its reply, at most `limit` and a little later; throws StoreError
  /// when the server ends, does not answer, or refuses the size.
  Answer ask(const std::string& operation, std::string_view content, Milliseconds limit);

  /// The same on a new connection, which is handed over to the caller: for kWatch.
  posix::Descriptor subscribe(const std::string& operation, std::string_view content,
                              Milliseconds limit);

  /// Until the first answer the server may still be coming up, and connecting tries again and
  /// again; from then on a server that does not take connections has ended.
  [[nodiscard]] bool met() const { return met_.load(); }

  /// Returns "store host:port".
  [[nodiscard]] std::string place() const;

  [[noreturn]] void tooLong(const std::string& operation) const;

 private:
  Answer exchange(posix::Descriptor& socket, const std::string& operation, std::string_view content,
                  Milliseconds limit);
  [[nodiscard]] posix::Descriptor connect(Milliseconds limit) const;
  posix::Descriptor borrow(Milliseconds limit);

  const std::string host_;
  const std::uint16_t port_;
  const std::string hello_;  ///< with the token
  std::atomic<bool> met_{false};
  std::mutex mutex_;
  std::vector<posix::Descriptor> idle_;  ///< connections no call uses now
};

}  // namespace lockstep::store::detail
