#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/experiment/SettingChange.h"
#include "engine/launch/EventLoop.h"

namespace lockstep::launch {

// Note [Control protocol]
// A Unix socket whose path stands in the run file (RunInfo::controlSocket). The client sends
// one JSON object a line and gets one back:
//
//   {"command":"stop"}                     -> {"ok":true}
//   {"command":"capture","enabled":false}  -> {"ok":true}
//   {"command":"set","key":"hook.density",
//    "value":0.05}                         -> {"ok":true}
//   {"command":"status"}                   -> {"ok":true,"state":"running","steps":[12,12],
//                                              "planned_steps":100,"loss":0.4,"events":900,
//                                              "events_dropped":0,"capture":true}
//   anything else                          -> {"ok":false,"error":"..."}
//
// Only the user who started the run gets in: the directory is 0700, the socket 0600, and the
// peer's user is compared.

/// One command to a running supervisor.
struct ControlCommand {
  enum class Kind { kStop, kCapture, kSet, kStatus };
  Kind kind = Kind::kStatus;
  bool enabled = true;                 ///< kCapture
  experiment::SettingChange change{};  ///< kSet
};

std::string toJson(const ControlCommand& command);
base::Result<ControlCommand> controlCommandFromJson(std::string_view line);

/// The supervisor's end: listens, and answers from the event loop. One thread; the loop
/// outlives it.
class ControlServer {
 public:
  /// Returns the JSON text of the answer, one line without its end.
  using Handler = std::function<std::string(const ControlCommand&)>;

  /// Listens at `<directory>/<name>.sock`; the directory is created when it is missing, and
  /// sockets in it whose supervisor is gone are removed. Error: the directory is open to
  /// others or belongs to somebody else, the path is too long for a socket.
  static base::Result<std::unique_ptr<ControlServer>> listen(
      EventLoop& loop, const std::filesystem::path& directory, const std::string& name,
      Handler handler);

  /// Removes the socket.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  ControlServer(EventLoop& loop, std::filesystem::path path, int fd, Handler handler);
  void acceptClients();
  void readClient(int fd);
  void dropClient(int fd);

  EventLoop& loop_;
  std::filesystem::path path_;
  int fd_;
  Handler handler_;
  std::map<int, std::string> pending_;  ///< what a client sent of a line that has no end yet
};

/// Returns $XDG_RUNTIME_DIR/lockstep, or /tmp/lockstep-<uid> where that cannot be used.
std::filesystem::path controlDirectory();

/// Sends one command to the supervisor of `runFile` and returns its answer, a JSON object.
/// Blocks up to `timeout`. Error: the run has ended, its supervisor is gone or on another host,
/// or it refused; [any-thread].
base::Result<std::string> sendControl(
    const std::filesystem::path& runFile, const ControlCommand& command,
    std::chrono::milliseconds timeout = std::chrono::seconds(5));

}  // namespace lockstep::launch
