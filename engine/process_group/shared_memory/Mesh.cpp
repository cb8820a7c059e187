#include "engine/process_group/shared_memory/Mesh.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lockstep::process_group::shared_memory {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

int millisecondsUntil(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

bool sane(const Message::Header& header) {
  return header.kind >= Message::Kind::kBoard && header.kind <= Message::Kind::kRefused;
}

}  // namespace

Mesh::Mesh(int rank, int size) : rank_(rank) {
  for (int i = 0; i < size; ++i) {
    links_.push_back(std::make_unique<Link>());
  }
}

// Note [Messages between ranks]
//
// A socket of SOCK_SEQPACKET keeps the bounds of messages and their order. One sendmsg carries
// header, body and a file: the kernel makes a descriptor of it for the receiver, so memory is
// passed on without a name that somebody could open or forget to remove.
//
// Nobody ever blocks here, since the receiver may be waiting for this rank in its turn. What a full
// socket does not take goes to `waiting`, and everything after it, too, to keep the order; poll()
// sends it when there is room. A message that cannot be sent at all would leave a hole in that
// order: the connection is ended on both sides, which the watch takes for the end of the rank.
Mesh::Sent Mesh::write(const Link& link, const Message& message) {
  iovec parts[2] = {{const_cast<Message::Header*>(&message.header), sizeof(message.header)},
                    {const_cast<std::byte*>(message.body.data()), message.body.size()}};
  msghdr out{};
  out.msg_iov = parts;
  out.msg_iovlen = message.body.empty() ? 1 : 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (message.file.open()) {
    out.msg_control = control;
    out.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&out);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int file = message.file.get();
    std::memcpy(CMSG_DATA(rights), &file, sizeof(file));
  }
  for (;;) {
    if (sendmsg(link.socket.get(), &out, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
      return Sent::kAll;
    }
    // ETOOMANYREFS: too many files are in flight in sockets; they get fewer as others read.
    if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS) {
      return Sent::kFull;
    }
    if (errno != EINTR) {
      shutdown(link.socket.get(), SHUT_RDWR);  // both sides are to know that a message is lost
      return Sent::kBroken;
    }
  }
}

bool Mesh::send(int rank, Message message) {
  Link& link = *links_[static_cast<std::size_t>(rank)];
  if (link.ended.load()) {
    return false;
  }
  {
    std::lock_guard lock(link.mutex);
    if (link.waiting.empty()) {
      const Sent sent = write(link, message);
      if (sent != Sent::kFull) {
        return sent == Sent::kAll;
      }
    }
    link.waiting.push_back(std::move(message));
  }
  // The thread in poll() did not know that it has to wait for room.
  wake();
  return true;
}

void Mesh::sendToAll(const Message::Header& header, const std::string& text, int file) {
  for (std::size_t rank = 0; rank < links_.size(); ++rank) {
    if (static_cast<int>(rank) == rank_) {
      continue;
    }
    Message message;
    message.header = header;
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    // Reasons are cut: a message has one size at most.
    message.body.assign(bytes, bytes + std::min(text.size(), Message::kMostBody));
    if (file >= 0) {
      // A copy for each, as a message owns its file until it is sent.
      message.file = posix::Descriptor(fcntl(file, F_DUPFD_CLOEXEC, 0));
      if (!message.file.open()) {
        shutdown(links_[rank]->socket.get(), SHUT_RDWR);
        continue;
      }
    }
    send(static_cast<int>(rank), std::move(message));
  }
}

void Mesh::sendWaiting(Link& link) {
  std::lock_guard lock(link.mutex);
  while (!link.waiting.empty()) {
    const Sent sent = write(link, link.waiting.front());
    if (sent == Sent::kFull) {
      return;
    }
    link.waiting.pop_front();
  }
}

Mesh::Got Mesh::read(const Link& link, Message& message) {
  room_.resize(Message::kMostBody);
  iovec parts[2] = {{&message.header, sizeof(message.header)}, {room_.data(), room_.size()}};
  msghdr in{};
  in.msg_iov = parts;
  in.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  in.msg_control = control;
  in.msg_controllen = sizeof(control);
  ssize_t got = 0;
  do {
    got = recvmsg(link.socket.get(), &in, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // A peer that closes while something of ours lies unread there resets the connection; what
    // it sent before can still be read.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0) {
    return errno == EAGAIN ? Got::kNothing : Got::kEnd;
  }
  // Also of what is nonsense: a descriptor that nobody takes would leak.
  for (cmsghdr* part = CMSG_FIRSTHDR(&in); part != nullptr; part = CMSG_NXTHDR(&in, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(part), sizeof(file));
      message.file = posix::Descriptor(file);
    }
  }
  if (got == 0) {
    return Got::kEnd;
  }
  const auto bytes = static_cast<std::size_t>(got);
  // Truncated: longer than any message of ours.
  if (bytes < sizeof(message.header) || (in.msg_flags & MSG_TRUNC) != 0 || !sane(message.header)) {
    return Got::kNonsense;
  }
  message.body.assign(room_.begin(),
                      room_.begin() + static_cast<std::ptrdiff_t>(bytes - sizeof(message.header)));
  return Got::kMessage;
}

std::unique_ptr<Message> Mesh::receive(int rank, steady_clock::time_point deadline) {
  const Link& link = *links_[static_cast<std::size_t>(rank)];
  for (;;) {
    auto message = std::make_unique<Message>();
    const Got got = read(link, *message);
    if (got == Got::kMessage) {
      return message;
    }
    pollfd wait{link.socket.get(), POLLIN, 0};
    const int left = millisecondsUntil(deadline);
    if (got != Got::kNothing || left == 0 || (::poll(&wait, 1, left) < 0 && errno != EINTR)) {
      return nullptr;
    }
  }
}

void Mesh::poll(milliseconds longest, const Handlers& handlers) {
  std::vector<pollfd> waits{{wake_.fd(), POLLIN, 0}};
  std::vector<int> ranks{-1};
  for (std::size_t rank = 0; rank < links_.size(); ++rank) {
    Link& link = *links_[rank];
    if (!link.socket.open() || link.ended.load()) {
      continue;
    }
    // For `waiting` alone: it is not held while this thread polls.
    std::lock_guard lock(link.mutex);
    const short events = link.waiting.empty() ? POLLIN : POLLIN | POLLOUT;
    waits.push_back({link.socket.get(), events, 0});
    ranks.push_back(static_cast<int>(rank));
  }
  if (::poll(waits.data(), waits.size(), static_cast<int>(longest.count())) <= 0) {
    return;
  }
  if (waits[0].revents != 0) {
    wake_.clear();
  }
  for (std::size_t i = 1; i < waits.size(); ++i) {
    Link& link = *links_[static_cast<std::size_t>(ranks[i])];
    if ((waits[i].revents & POLLOUT) != 0) {
      sendWaiting(link);
    }
    if ((waits[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) {
      continue;
    }
    // All that has come, up to the end: the last words of a rank come before its end.
    for (Got got = Got::kMessage; got == Got::kMessage;) {
      Message message;
      got = read(link, message);
      if (got == Got::kMessage) {
        handlers.arrived(ranks[i], std::move(message));
      } else if (got != Got::kNothing) {
        link.ended.store(true);
        handlers.ended(ranks[i], got == Got::kNonsense);
      }
    }
  }
}

void Mesh::wake() {
  wake_.wake();
}

void Mesh::close() {
  for (const auto& link : links_) {
    link->ended.store(true);
    if (link->socket.open()) {
      shutdown(link->socket.get(), SHUT_RDWR);
    }
  }
}

void Mesh::flush(milliseconds longest) {
  // One time for all links together.
  const auto deadline = steady_clock::now() + longest;
  for (const auto& link : links_) {
    for (;;) {
      sendWaiting(*link);
      pollfd wait{link->socket.get(), POLLOUT, 0};
      {
        std::lock_guard lock(link->mutex);
        const int left = millisecondsUntil(deadline);
        if (link->waiting.empty() || left == 0) {
          break;
        }
        ::poll(&wait, 1, left);
      }
    }
  }
}

}  // namespace lockstep::process_group::shared_memory
