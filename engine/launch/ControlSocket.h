#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/base/posix/EventLoop.h"
#include "engine/experiment/SettingChange.h"
#include "engine/trace/Recorder.h"

namespace lockstep::launch {

namespace detail {
class LineServer;
}

// Note [Control protocol]
// A Unix socket whose path stands in the run file (RunInfo::controlSocket). The client sends
// one JSON object a line and gets one back:
//
//   {"command":"stop"}                     -> {"ok":true}
//   {"command":"capture","enabled":false}  -> {"ok":true}
//   {"command":"trace","steps":5}          -> {"ok":true,"ranks":[0,1]}
//   {"command":"set","key":"hook.density",
//    "value":0.05}                         -> {"ok":true}
//   {"command":"status"}                   -> {"ok":true,"state":"running","steps":[12,12],
//                                              "planned_steps":100,"loss":0.4,"events":900,
//                                              "events_dropped":0,"capture":true}
//   anything else                          -> {"ok":false,"error":"..."}
//
// Only the user who started the run gets in: the directory is 0700, the socket 0600, and the
// peer's user is compared.

inline constexpr int kMostTracedSteps = 1000;

/// One command to a running supervisor.
struct ControlCommand {
  enum class Kind { kStop, kCapture, kTrace, kSet, kStatus };
  Kind kind = Kind::kStatus;
  bool enabled = true;                 ///< kCapture
  experiment::SettingChange change{};  ///< kSet
  int steps = 0;                       ///< kTrace: 1..kMostTracedSteps
};

std::string toJson(const ControlCommand& command);

/// What "status" tells of a run.
struct ControlStatus {
  trace::RunState state = trace::RunState::kStarting;
  bool stopping = false;
  trace::Recorder::Progress recorder;
  bool capture = true;
};

/// Returns the answer to "status".
std::string toJson(const ControlStatus& status);
/// Return the answers that a command was carried out, and that it was not.
std::string controlDone();
std::string controlRefused(const std::string& error);
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
  static base::Result<std::unique_ptr<ControlServer>> listen(posix::EventLoop& loop,
                                                             const std::filesystem::path& directory,
                                                             const std::string& name,
                                                             Handler handler);

  /// Removes the socket.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  explicit ControlServer(std::unique_ptr<detail::LineServer> lines);

  std::unique_ptr<detail::LineServer> lines_;
};

/// Returns the folder that was chosen; of none $XDG_RUNTIME_DIR/lockstep, or /tmp/lockstep-<uid>
/// where that cannot be used.
std::filesystem::path controlDirectory(const std::filesystem::path& chosen = {});

/// Sends one command to the supervisor of `runFile` and returns its answer, a JSON object.
/// Blocks up to `timeout`, and before that as long where the file is so new that it does not name
/// its socket. Error: the run has ended, its supervisor is gone or on another host, or it refused;
/// [any-thread].
base::Result<std::string> sendControl(const std::filesystem::path& runFile,
                                      const ControlCommand& command,
                                      std::chrono::milliseconds timeout = std::chrono::seconds(5));

}  // namespace lockstep::launch
