// How the ranks of a group find each other.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sstream>

#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/process_group/shared_memory/Mesh.h"

namespace lockstep::process_group::shared_memory {
namespace {

using base::Error;
using base::ExitCode;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The first message on a connection: who calls, and the proof that the store told it of us.
struct Hello {
  std::uint64_t magic = 0x4C4B48454C4C4F31;  // "LKHELLO1"
  std::int32_t rank = -1;
  std::uint32_t unused = 0;
  std::uint64_t token = 0;
};

std::uint64_t randomNumber() {
  std::uint64_t number = 0;
  while (getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number))) {
  }
  return number;
}

// An abstract address: it lives in the network namespace and has no file.
socklen_t addressOf(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool sameUser(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

}  // namespace

// Note [How ranks of a host meet]
//
//   store     joined/r    counted up: a second process with this rank is refused
//             card/r      user, address and token of rank r, and its host's key
//
//   rank 0    listens ──────────────────◀ 1 calls, says Hello ◀ 2 calls, says Hello
//   rank 1    listens ────────────────────────────────────────◀ 2 calls, says Hello
//
// Every rank listens before it writes its card, so who has read a card can call at once. Each calls
// the ranks below it and then answers those above: a call succeeds as soon as the other listens,
// without its accept, so no order of ranks can wait in a circle.
//
// An address that anybody on the host may call is no proof of who calls. A caller is accepted when
// it is of the same user (SO_PEERCRED) and knows the token, which only the store has told it.
/// One rank's way into a group.
class Meeting {
 public:
  Meeting(store::Store& store, const Mesh::Options& options)
      : store_(store),
        options_(options),
        prefix_(fmt::format("shared_memory/{}/", options.group)),
        deadline_(steady_clock::now() + options.timeout),
        mesh_(new Mesh(options.rank, options.size)) {}

  base::Result<std::unique_ptr<Mesh>> run() {
    LOCKSTEP_TRY(join(store_, key("joined", options_.rank), options_));
    if (options_.size == 1) {
      return std::move(mesh_);
    }
    for (const auto step :
         {&Meeting::listen, &Meeting::readCards, &Meeting::callLower, &Meeting::answerHigher}) {
      LOCKSTEP_TRY((this->*step)());
    }
    return std::move(mesh_);
  }

 private:
  // What a rank publishes.
  struct Card {
    std::string host;
    std::uint64_t user = 0;
    std::string address;
    std::uint64_t token = 0;
  };

  [[nodiscard]] std::string key(const char* what, int rank) const {
    return fmt::format("{}{}/{}", prefix_, what, rank);
  }
  [[nodiscard]] Error cannot(const char* what) const {
    return options_.failed(fmt::format("cannot {}: {}", what, std::strerror(errno)));
  }

  base::Status listen() {
    token_ = randomNumber();
    const std::string name = fmt::format("lockstep-{:016x}{:016x}", randomNumber(), randomNumber());
    // Not blocking: a caller may be gone between poll() and accept().
    listener_ =
        posix::Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address;
    const socklen_t length = addressOf(name, address);
    if (!listener_.open() ||
        bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::listen(listener_.get(), options_.size) != 0) {
      return cannot("open a socket for the other ranks");
    }
    store_.set(key("card", options_.rank),
               fmt::format("{} {} {}\n{}", geteuid(), name, token_, options_.host));
    return {};
  }

  base::Status readCards() {
    if (base::Status come = awaitRanks(
            store_, [this](int rank) { return key("card", rank); }, "join", options_);
        !come.ok()) {
      return come;
    }
    std::vector<int> strangers;
    std::vector<int> otherUsers;
    for (int rank = 0; rank < options_.size; ++rank) {
      Card card;
      std::istringstream text(store_.get(key("card", rank)));
      text >> card.user >> card.address >> card.token;
      text.ignore();
      std::getline(text, card.host);
      // An empty key says nothing of where a rank is: nobody is near it then.
      if (card.host != options_.host || card.host.empty()) {
        strangers.push_back(rank);
      } else if (card.user != geteuid()) {
        otherUsers.push_back(rank);
      }
      cards_.push_back(std::move(card));
    }
    if (!strangers.empty()) {
      return options_.failed(fmt::format(
          "{} {} not on the host of rank {}, or not in its network namespace: shared memory joins "
          "ranks of one host; use gloo",
          base::ranksText(strangers), strangers.size() == 1 ? "is" : "are", options_.rank));
    }
    if (!otherUsers.empty()) {
      return options_.failed(
          fmt::format("{} {} to another user than rank {}: shared memory joins ranks "
                      "of one user; use gloo",
                      base::ranksText(otherUsers), otherUsers.size() == 1 ? "belongs" : "belong",
                      options_.rank));
    }
    return {};
  }

  base::Status callLower() {
    for (int rank = 0; rank < options_.rank; ++rank) {
      const Card& card = cards_[static_cast<std::size_t>(rank)];
      posix::Descriptor called(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      sockaddr_un address;
      const socklen_t length = addressOf(card.address, address);
      int result = -1;
      do {  // it has been listening since before its card stood in the store
        result = connect(called.get(), reinterpret_cast<sockaddr*>(&address), length);
      } while (result != 0 && errno == EINTR);
      Hello hello;
      hello.rank = options_.rank;
      hello.token = card.token;
      if (result != 0 || ::send(called.get(), &hello, sizeof(hello), MSG_NOSIGNAL) < 0) {
        return options_.failed(fmt::format("cannot connect to rank {}: {}; it may have ended", rank,
                                           std::strerror(errno)));
      }
      mesh_->links_[static_cast<std::size_t>(rank)]->socket = std::move(called);
    }
    return {};
  }

  base::Status answerHigher() {
    for (int left = options_.size - 1 - options_.rank; left > 0;) {
      if (!readable(listener_.get())) {
        std::vector<int> missing;
        for (int rank = options_.rank + 1; rank < options_.size; ++rank) {
          if (!mesh_->links_[static_cast<std::size_t>(rank)]->socket.open()) {
            missing.push_back(rank);
          }
        }
        return options_.timedOut(missing, "connect");
      }
      posix::Descriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!caller.open() && errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
        return cannot("take the connection of another rank");
      }
      Hello hello;
      if (!caller.open() || !sameUser(caller.get()) || !readable(caller.get()) ||
          recv(caller.get(), &hello, sizeof(hello), MSG_DONTWAIT) !=
              static_cast<ssize_t>(sizeof(hello)) ||
          hello.magic != Hello{}.magic || hello.token != token_ || hello.rank <= options_.rank ||
          hello.rank >= options_.size) {
        continue;  // not one of us
      }
      // A rank that calls twice is answered once.
      posix::Descriptor& place = mesh_->links_[static_cast<std::size_t>(hello.rank)]->socket;
      if (!place.open()) {
        place = std::move(caller);
        --left;
      }
    }
    return {};
  }

  [[nodiscard]] bool readable(int file) const {
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(deadline_ - steady_clock::now()).count();
      pollfd wait{file, POLLIN, 0};
      // A second at a time, since the deadline may be further away than poll() can count.
      const int found = ::poll(&wait, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
      if (found > 0 || left <= 0) {
        return found > 0;
      }
    }
  }

  store::Store& store_;
  const Mesh::Options& options_;
  const std::string prefix_;
  const steady_clock::time_point deadline_;
  std::unique_ptr<Mesh> mesh_;
  posix::Descriptor listener_;
  std::uint64_t token_ = 0;
  std::vector<Card> cards_;
};

base::Result<std::unique_ptr<Mesh>> Mesh::connect(store::Store& store, const Options& options) {
  try {
    return Meeting(store, options).run();
  } catch (const std::exception& error) {
    return Error{ExitCode::kCommFailed,
                 fmt::format("cannot meet the other ranks: {}", error.what()),
                 fmt::format("rank {}, group {}", options.rank, options.group)};
  }
}

}  // namespace lockstep::process_group::shared_memory
