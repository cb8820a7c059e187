#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/launch/EventLoop.h"

namespace lockstep::launch::detail {

// Note [Attaching]
// A process that is no child of ours is handed its event memory over a Unix socket, whose path it
// has from the environment (torchrun closes inherited descriptors). It sends one JSON object on a
// line, and gets one back, with the memory's descriptor beside it (SCM_RIGHTS):
//
//   {"lockstep":1,"rank":1,"world_size":4,"local_rank":1,"restart":0,"host":"a","pid":77}
//     -> {"ok":true,"clock":"tsc","step":0}
//     -> {"ok":false,"error":"..."}
//
// `clock` is what a tick of an event is; `step` is the first that the process may write: a process
// that takes the place of one that ended goes on where that one was. Only this user gets in.

/// Who attaches, as it says itself.
struct Hello {
  int rank = 0;
  int worldSize = 1;
  int localRank = 0;
  int restart = 0;
};

/// Error: what is wrong with the line.
base::Result<Hello> helloFromJson(std::string_view line);

/// What a process that attached is handed.
struct Handover {
  int fd = -1;  ///< of the event memory; stays the server's user's
  std::uint32_t step = 0;
};

/// Listens for processes that want to be recorded. One thread; the loop outlives it.
class AttachServer {
 public:
  /// `pid`: of the process that asks, by the kernel's word; 0 where it is not visible from here.
  using Handler = std::function<base::Result<Handover>(const Hello& hello, pid_t pid)>;

  /// Listens at `path`, in a folder that nobody else can enter.
  static base::Result<std::unique_ptr<AttachServer>> listen(EventLoop& loop,
                                                            const std::filesystem::path& path,
                                                            Handler handler);

  /// Removes the socket.
  ~AttachServer();
  AttachServer(const AttachServer&) = delete;
  AttachServer& operator=(const AttachServer&) = delete;

 private:
  AttachServer(EventLoop& loop, std::filesystem::path path, int fd, Handler handler);
  void acceptClients();
  void readClient(int fd);
  void dropClient(int fd);

  EventLoop& loop_;
  const std::filesystem::path path_;
  const int fd_;
  const Handler handler_;
  std::map<int, std::string> pending_;  // what a client sent of its line
};

}  // namespace lockstep::launch::detail
