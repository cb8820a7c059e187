#include "engine/launch/detail/AttachServer.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/launch/detail/UnixSocket.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;
using base::systemError;

constexpr int kProtocol = 1;
constexpr int kWaiting = 128;            // of a job whose ranks come at once
constexpr std::size_t kMaxClients = 64;  // with a line begun and not ended
constexpr std::size_t kMaxLineBytes = 4096;
constexpr int kMaxRanks = 65'536;

Error refused(std::string what) {
  return {ExitCode::kBadInput, std::move(what), "attach"};
}

pid_t pidOf(int fd) {
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
  hello.localRank = static_cast<int>(number("local_rank", hello.rank));
  hello.restart = static_cast<int>(number("restart", 0));
  return hello;
}

base::Result<std::unique_ptr<AttachServer>> AttachServer::listen(EventLoop& loop,
                                                                 const std::filesystem::path& path,
                                                                 Handler handler) {
  const int fd = listenUnix(path, kWaiting);
  if (fd == -ENAMETOOLONG) {
    return Error{ExitCode::kEnvironment,
                 "this path is too long for a socket; set XDG_RUNTIME_DIR to a shorter one",
                 path.string()};
  }
  if (fd < 0) {
    errno = -fd;
    return systemError(ExitCode::kEnvironment, "cannot listen for the job's processes",
                       path.string());
  }
  auto server = std::unique_ptr<AttachServer>(new AttachServer(loop, path, fd, std::move(handler)));
  if (auto added = loop.add(fd, [raw = server.get()] { raw->acceptClients(); }); !added.ok()) {
    return added.error();
  }
  return server;
}

AttachServer::AttachServer(EventLoop& loop, std::filesystem::path path, int fd, Handler handler)
    : loop_(loop), path_(std::move(path)), fd_(fd), handler_(std::move(handler)) {}

AttachServer::~AttachServer() {
  while (!pending_.empty()) {
    dropClient(pending_.begin()->first);
  }
  loop_.remove(fd_);
  close(fd_);
  unlink(path_.c_str());
}

void AttachServer::acceptClients() {
  while (true) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      return;
    }
    if (pending_.size() == kMaxClients || !peerIsThisUser(fd) ||
        !loop_.add(fd, [this, fd] { readClient(fd); }).ok()) {
      close(fd);
      continue;
    }
    pending_.emplace(fd, "");
  }
}

void AttachServer::dropClient(int fd) {
  loop_.remove(fd);
  close(fd);
  pending_.erase(fd);
}

void AttachServer::readClient(int fd) {
  std::array<char, kMaxLineBytes> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (count <= 0) {
    dropClient(fd);
    return;
  }
  std::string& text = pending_.at(fd);
  text.append(buffer.data(), static_cast<std::size_t>(count));
  const std::size_t end = text.find('\n');
  if (end == std::string::npos && text.size() < kMaxLineBytes) {
    return;
  }
  auto hello = helloFromJson(std::string_view(text).substr(0, end));
  const auto handover =
      hello.ok() ? handler_(hello.value(), pidOf(fd)) : base::Result<Handover>(hello.error());
  const nlohmann::json reply =
      handover.ok() ? nlohmann::json{{"ok", true},
                                     {"clock", std::string(name(base::clockSource()))},
                                     {"step", handover.value().step}}
                    : nlohmann::json{{"ok", false}, {"error", handover.error().what}};
  answer(fd, reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
         handover.ok() ? handover.value().fd : -1);
  dropClient(fd);
}

}  // namespace lockstep::launch::detail
