#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/base/posix/EventLoop.h"

namespace lockstep::launch::detail {

/// A Unix socket of this user's own, over which clients send lines. One thread; the loop outlives
/// it.
class LineServer {
 public:
  static constexpr std::size_t kMaxLineBytes = 4096;  ///< a client that sends more is let go

  struct Options {
    std::string purpose;       ///< ends "cannot listen for ...": "commands"
    int waiting = 16;          ///< clients that wait to be accepted
    std::size_t clients = 16;  ///< at a time; who comes beyond is let go at once
  };

  /// Takes one line, without its end, and answers on `fd` itself. Returns whether the client stays.
  using Handler = std::function<bool(int fd, std::string_view line)>;

  /// Listens at `path`, in a folder that nobody else can enter. Error: the path is too long for a
  /// socket, or taken (kEnvironment).
  static base::Result<std::unique_ptr<LineServer>> listen(posix::EventLoop& loop,
                                                          const std::filesystem::path& path,
                                                          const Options& options, Handler handler);

  /// Lets the clients go and removes the socket.
  ~LineServer();
  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  struct Client {
    posix::Descriptor socket;
    std::string pending;  // what it sent of a line that has no end yet
  };

  LineServer(posix::EventLoop& loop, std::filesystem::path path, posix::Descriptor socket,
             std::size_t clients, Handler handler);
  void acceptClients();
  void readClient(int fd);
  void dropClient(int fd);

  posix::EventLoop& loop_;
  const std::filesystem::path path_;
  const posix::Descriptor socket_;
  const std::size_t mostClients_;
  const Handler handler_;
  std::map<int, Client> clients_;
};

}  // namespace lockstep::launch::detail
