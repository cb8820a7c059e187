#include "engine/process_group/gloo/Transport.h"

#include <fmt/format.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "engine/base/Thread.h"
#include "engine/base/Try.h"
#include "engine/process_group/operation/Moves.h"
#include "engine/store/PrefixStore.h"

namespace lockstep::process_group::gloo {
namespace {

using std::chrono::milliseconds;

// Gloo's names for messages of a connection itself.
constexpr std::uint64_t kVigilSlot = std::uint64_t{4} << 60;
constexpr std::uint64_t kFarewellSlot = std::uint64_t{5} << 60;
// How long a rank that leaves waits for its peers to read that.
constexpr milliseconds kFarewell{500};
// What was sent before has as long as it moves: over a slow network the buffers of a socket alone
// may take longer than that.
constexpr milliseconds kUndelivered{500};
constexpr milliseconds kLongestDelivery{10'000};

// Lets Gloo meet through a store of ours.
class StoreAdapter final : public ::gloo::rendezvous::Store {
 public:
  StoreAdapter(store::PrefixStore store, milliseconds timeout)
      : store_(std::move(store)), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    wait({key});
    const std::string value = store_.get(key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const milliseconds& timeout) override {
    store_.wait(keys, timeout);
  }

 private:
  store::PrefixStore store_;
  const milliseconds timeout_;
};

std::vector<std::string> chosenInterfaces(std::vector<std::string> names) {
  if (names.empty()) {
    const char* const variable = std::getenv("GLOO_SOCKET_IFNAME");
    std::istringstream list(variable == nullptr ? "" : variable);
    for (std::string name; std::getline(list, name, ',');) {
      names.push_back(name);
    }
    std::erase(names, "");
  }
  return names.empty() ? std::vector<std::string>{"127.0.0.1"} : names;
}

std::shared_ptr<::gloo::transport::Device> makeDevice(const std::string& name) {
  ::gloo::transport::tcp::attr attributes;
  const bool address = name.find_first_of(".:") != std::string::npos;
  (address ? attributes.hostname : attributes.iface) = name;
  // Gloo does not name its I/O thread; a new thread takes its creator's name.
  struct Named {
    const std::string before = base::thisThreadName();
    Named() { base::nameThisThread("gloo io"); }
    ~Named() { base::nameThisThread(before); }
  } named;
  return ::gloo::transport::tcp::CreateDevice(attributes);
}

// Gloo writes to sockets without MSG_NOSIGNAL: a peer's death would end this process too.
void ignoreBrokenPipes() {
  struct sigaction action {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    std::signal(SIGPIPE, SIG_IGN);
  }
}

}  // namespace

std::string withoutLocation(const std::string& text) {
  static const std::regex location(R"(^\[[^\]]*:[^\]]*\] )");
  return std::regex_replace(text, location, "");
}

// A receive that is never sent to. Gloo tells those who wait for a peer when the connection
// breaks, but not those whose message was half transferred; every broken connection shows here.
struct Transport::Vigil {
  Vigil(::gloo::Context& context, int ofPeer)
      : peer(ofPeer),
        buffer(context.createUnboundBuffer(&bytes[0], 1)),
        farewell(context.createUnboundBuffer(&bytes[1], 1)),
        own(context.createUnboundBuffer(&bytes[2], 1)) {
    buffer->recv(peer, kVigilSlot, 0, 1);
    farewell->recv(peer, kFarewellSlot, 0, 1);
  }

  const int peer;
  std::array<char, 3> bytes{};  // one for each
  const std::unique_ptr<::gloo::transport::UnboundBuffer> buffer;
  // A peer that leaves sends here; what this rank sends to it when it leaves itself.
  const std::unique_ptr<::gloo::transport::UnboundBuffer> farewell;
  const std::unique_ptr<::gloo::transport::UnboundBuffer> own;
  std::optional<std::chrono::steady_clock::time_point> lostAt;
  std::optional<bool> left;
};

base::Result<std::unique_ptr<Transport>> Transport::connect(
    const std::shared_ptr<store::Store>& store, const Joiner& joiner,
    const std::vector<std::string>& interfaces) {
  std::unique_ptr<Transport> transport(new Transport());
  const std::string prefix = "gloo/" + joiner.group;
  const auto keys = [&](const char* stage) {
    return [&, stage](int rank) { return fmt::format("{}/{}/{}", prefix, stage, rank); };
  };
  try {
    LOCKSTEP_TRY(meet(*store, keys("joined"), "join", joiner));
    if (joiner.size == 1) {
      return transport;
    }
    ignoreBrokenPipes();
    const posix::Connections before = posix::openConnections();
    int index = 0;
    for (const std::string& name : chosenInterfaces(interfaces)) {
      std::shared_ptr<::gloo::transport::Device> device;
      try {
        device = makeDevice(name);
      } catch (const std::exception& error) {
        return joiner.failed(fmt::format("cannot use network interface or address \"{}\": {}", name,
                                         withoutLocation(error.what())));
      }
      auto context = std::make_shared<::gloo::rendezvous::Context>(joiner.rank, joiner.size);
      // Gloo waits five times this for a connection.
      context->setTimeout(std::max<milliseconds>(joiner.timeout / 5, milliseconds(1)));
      StoreAdapter adapter({fmt::format("{}/{}", prefix, index++), store}, joiner.timeout);
      context->connectFullMesh(adapter, device);
      transport->contexts_.push_back(std::move(context));
    }
    transport->connections_ = posix::openConnections(before);
    for (const auto& context : transport->contexts_) {
      process_group::forEachPeer(joiner.rank, joiner.size, [&](int peer) {
        transport->vigils_.push_back(std::make_unique<Vigil>(*context, peer));
      });
    }
    // Nobody goes before all are connected: Gloo asks a new connection for its peer's address, on
    // a thread of its own, and a peer that has ended by then ends this process, too (SIGABRT).
    LOCKSTEP_TRY(meet(*store, keys("connected"), "connect", joiner));
  } catch (const std::exception& error) {
    return joiner.failed(fmt::format("cannot connect: {}", withoutLocation(error.what())));
  }
  return transport;
}

Transport::~Transport() = default;

::gloo::Context* Transport::context(std::uint64_t turn) const {
  return contexts_.empty() ? nullptr : contexts_[turn % contexts_.size()].get();
}

std::optional<std::string> Transport::lost(int peer, milliseconds knownFor) {
  std::lock_guard lock(vigilMutex_);
  for (const auto& vigil : vigils_) {
    try {
      if (vigil->peer == peer) {
        // An aborted wait returns at once, or throws the connection's error if there is one.
        vigil->buffer->abortWaitRecv();
        vigil->buffer->waitRecv(nullptr, std::chrono::seconds(1));
      }
    } catch (const std::exception& error) {
      const auto now = std::chrono::steady_clock::now();
      vigil->lostAt = vigil->lostAt.value_or(now);
      if (now - *vigil->lostAt >= knownFor) {
        return withoutLocation(error.what());
      }
    }
  }
  return std::nullopt;
}

bool Transport::left(int peer) {
  if (!lost(peer)) {
    return false;
  }
  std::lock_guard lock(vigilMutex_);
  return std::any_of(vigils_.begin(), vigils_.end(), [peer](const auto& vigil) {
    if (vigil->peer == peer && !vigil->left) {
      // It came before the connection broke, or never will, which is an exception at once.
      vigil->left = succeeds([&] {
        waited([&] { return vigil->farewell->waitRecv(nullptr, std::chrono::seconds(1)); });
      });
    }
    return vigil->peer == peer && *vigil->left;
  });
}

void Transport::sayFarewell() {
  std::lock_guard lock(vigilMutex_);
  const auto until = std::chrono::steady_clock::now() + kFarewell;
  std::vector<Vigil*> told;
  for (const auto& vigil : vigils_) {
    if (succeeds([&] { vigil->own->send(vigil->peer, kFarewellSlot, 0, 1); })) {
      told.push_back(vigil.get());  // else the peer has gone before
    }
  }
  for (const Vigil* vigil : told) {
    const auto rest = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    succeeds([&] { vigil->own->waitSend(nullptr, std::max(rest, milliseconds(1))); });
  }
}

bool Transport::moved() {
  const std::uint64_t now = posix::movedBytes(connections_);
  return movedBytes_.exchange(now) != now;
}

void Transport::close() {
  // A socket that is closed with something unread, as with what peers have sent for a collective
  // that this rank never calls, is reset: what it has still to send is thrown away, and with it
  // this rank's part in collectives that it has ended and they have not.
  posix::awaitDelivery(connections_, kUndelivered, kLongestDelivery);
  for (const auto& context : contexts_) {
    succeeds([&] { context->closeConnections(); });  // else it is closed already
  }
}

}  // namespace lockstep::process_group::gloo
