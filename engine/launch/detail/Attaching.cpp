#include "engine/launch/detail/Attaching.h"

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/Clock.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr int kProtocol = 1;
constexpr int kMaxRanks = 65'536;

Error refused(std::string what) {
  return {ExitCode::kBadInput, std::move(what), "attach"};
}

pid_t pidOf(int fd) {
  // The kernel's word, taken when the socket was connected. 0: the process is in a pid namespace
  // that is not visible from here.
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

/// Sends a line and, unless it is negative, a descriptor.
void answer(int fd, const std::string& line, int handed) {
  iovec part{const_cast<char*>(line.data()), line.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (handed >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &handed, sizeof(int));
  }
  // One short line into an empty buffer: it fits, or nobody listens any more.
  // The descriptor goes with the first byte; the receiver gets a number of its own for it.
  static_cast<void>(sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

}  // namespace

base::Result<Hello> helloFromJson(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) {
    return refused("what came is no JSON object");
  }
  const auto number = [&](const char* key, int missing) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : missing;
  };
  if (const std::int64_t protocol = number("lockstep", 0); protocol != kProtocol) {
    return refused(
        fmt::format("it speaks version {} of this protocol and the recorder speaks {}; "
                    "take lockstep's programs and its Python package of one version",
                    protocol, kProtocol));
  }
  const std::int64_t world = number("world_size", 0);
  const std::int64_t rank = number("rank", -1);
  if (world < 1 || world > kMaxRanks || rank < 0 || rank >= world) {
    return refused(fmt::format("rank {} of {} is none", rank, world));
  }
  Hello hello;
  hello.rank = static_cast<int>(rank);
  hello.worldSize = static_cast<int>(world);
  return hello;
}

base::Result<std::unique_ptr<LineServer>> listenForProcesses(posix::EventLoop& loop,
                                                             const std::filesystem::path& path,
                                                             AttachHandler handler) {
  const auto handOver = [handler = std::move(handler)](int fd, std::string_view line) {
    const auto hello = helloFromJson(line);
    const auto handover =
        hello.ok() ? handler(hello.value(), pidOf(fd)) : base::Result<Handover>(hello.error());
    const nlohmann::json reply =
        handover.ok() ? nlohmann::json{{"ok", true},
                                       {"clock", std::string(name(base::clockSource()))},
                                       {"step", handover.value().step}}
                      : nlohmann::json{{"ok", false}, {"error", handover.error().what}};
    answer(fd, reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
           handover.ok() ? handover.value().fd : -1);
    return false;  // all is said
  };
  // The ranks of a job come at once.
  return LineServer::listen(loop, path, {"the job's processes", 128, 64}, handOver);
}

}  // namespace lockstep::launch::detail
