#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/base/posix/EventLoop.h"
#include "engine/launch/detail/LineServer.h"

namespace lockstep::launch::detail {

// Note [Attaching]
// A process that is no child of ours is handed its event memory over a Unix socket, whose path it
// has from the environment (torchrun closes inherited descriptors). It sends one JSON object on a
// line, and gets one back, with the memory's descriptor beside it (SCM_RIGHTS):
//
//   {"lockstep":1,"rank":1,"world_size":4}
//     -> {"ok":true,"clock":"tsc","step":0}
//     -> {"ok":false,"error":"..."}
//
// `clock` is what a tick of an event is; `step` is the first that the process may write: a process
// that takes the place of one that ended goes on where that one was. Only this user gets in.

/// Who attaches, as it says itself.
struct Hello {
  int rank = 0;
  int worldSize = 1;
};

/// Error: what is wrong with the line.
base::Result<Hello> helloFromJson(std::string_view line);

/// What a process that attached is handed.
struct Handover {
  int fd = -1;  ///< of the event memory; stays the server's user's
  std::uint32_t step = 0;
};

/// Hands one process what it asks for. `pid`: of the process, by the kernel's word; 0 where it is
/// not visible from here.
using AttachHandler = std::function<base::Result<Handover>(const Hello& hello, pid_t pid)>;

/// Listens at `path` for processes that want to be recorded. One thread; the loop outlives it.
base::Result<std::unique_ptr<LineServer>> listenForProcesses(posix::EventLoop& loop,
                                                             const std::filesystem::path& path,
                                                             AttachHandler handler);

}  // namespace lockstep::launch::detail
