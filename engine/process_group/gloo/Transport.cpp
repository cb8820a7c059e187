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

#include "engine/base/Thread.h"
#include "engine/process_group/gloo/Flight.h"
#include "engine/process_group/gloo/Wait.h"

namespace lockstep::process_group::gloo {
namespace {

using std::chrono::milliseconds;

// Gloo's names for messages of a connection itself.
constexpr std::uint64_t kVigilSlot = std::uint64_t{4} << 60;
constexpr std::uint64_t kFarewellSlot = std::uint64_t{5} << 60;
// How long a rank that leaves waits for its peers to read that, and what it has sent before.
constexpr milliseconds kFarewell{500};

// Lets Gloo meet through a store of ours.
class StoreAdapter final : public ::gloo::rendezvous::Store {
 public:
  StoreAdapter(store::Store& store, std::string prefix, milliseconds timeout)
      : store_(store), prefix_(std::move(prefix)), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(prefix_ + key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    wait({key});
    const std::string value = store_.get(prefix_ + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const milliseconds& timeout) override {
    std::vector<std::string> ours;
    for (const std::string& key : keys) {
      ours.push_back(prefix_ + key);
    }
    store_.wait(ours, timeout);
  }

 private:
  store::Store& store_;
  const std::string prefix_;
  const milliseconds timeout_;
};

std::vector<std::string> chosenInterfaces(const std::vector<std::string>& given) {
  if (!given.empty()) {
    return given;
  }
  std::vector<std::string> names;
  if (const char* variable = std::getenv("GLOO_SOCKET_IFNAME")) {
    const std::string list = variable;
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      if (end > begin) {
        names.push_back(list.substr(begin, end - begin));
      }
      begin = end + 1;
    }
  }
  if (names.empty()) {
    names.emplace_back("127.0.0.1");
  }
  return names;
}

std::shared_ptr<::gloo::transport::Device> makeDevice(const std::string& name) {
  ::gloo::transport::tcp::attr attributes;
  const bool address = name.find('.') != std::string::npos || name.find(':') != std::string::npos;
  (address ? attributes.hostname : attributes.iface) = name;
  // Gloo does not name its I/O thread; a new thread takes its creator's name.
  const std::string mine = base::thisThreadName();
  base::nameThisThread("gloo io");
  std::shared_ptr<::gloo::transport::Device> device;
  try {
    device = ::gloo::transport::tcp::CreateDevice(attributes);
  } catch (...) {
    base::nameThisThread(mine);
    throw;
  }
  base::nameThisThread(mine);
  return device;
}

// Gloo writes to sockets without MSG_NOSIGNAL: a peer's death would end this process too.
void ignoreBrokenPipes() {
  struct sigaction action {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    std::signal(SIGPIPE, SIG_IGN);
  }
}

}  // namespace

// A receive that is never sent to. Gloo tells those who wait for a peer when the connection
// breaks, but not those whose message was half transferred; every broken connection shows here.
struct Transport::Vigil {
  int peer;
  std::unique_ptr<::gloo::transport::UnboundBuffer> buffer;
  std::unique_ptr<::gloo::transport::UnboundBuffer> farewell;  // what a peer that leaves sends to
  std::unique_ptr<::gloo::transport::UnboundBuffer> own;       // what this rank sends to it then
  std::optional<bool> left;
  std::array<char, 3> bytes{};  // one for each
};

base::Result<std::unique_ptr<Transport>> Transport::connect(store::Store& store,
                                                            const Options& options) {
  std::unique_ptr<Transport> transport(new Transport());
  const std::string prefix = fmt::format("gloo/{}/", options.group);
  // Waits until every rank has come to a stage; `verb` is what they are to do.
  const auto meet = [&](const char* stage, const char* verb) -> base::Status {
    const auto key = [&](int rank) { return fmt::format("{}{}/{}", prefix, stage, rank); };
    if (base::Status joined = join(store, key(options.rank), options); !joined.ok()) {
      return joined;
    }
    return awaitRanks(store, key, verb, options);
  };
  try {
    if (base::Status met = meet("joined", "join"); !met.ok()) {
      return met.error();
    }
    if (options.size == 1) {
      return transport;
    }
    ignoreBrokenPipes();
    const Connections before = Connections::open();
    int index = 0;
    for (const std::string& name : chosenInterfaces(options.interfaces)) {
      std::shared_ptr<::gloo::transport::Device> device;
      try {
        device = makeDevice(name);
      } catch (const std::exception& error) {
        return options.failed(fmt::format("cannot use network interface or address \"{}\": {}",
                                           name, withoutLocation(error.what())));
      }
      auto context = std::make_shared<::gloo::rendezvous::Context>(options.rank, options.size);
      // Gloo waits five times this for a connection.
      context->setTimeout(std::max<milliseconds>(options.timeout / 5, milliseconds(1)));
      StoreAdapter adapter(store, fmt::format("{}{}/", prefix, index++), options.timeout);
      context->connectFullMesh(adapter, device);
      transport->contexts_.push_back(std::move(context));
    }
    transport->connections_ = Connections::open().without(before);
    transport->keepVigil(options.rank, options.size);
    // Nobody goes before all are connected: Gloo asks a new connection for its peer's address, on
    // a thread of its own, and a peer that has ended by then ends this process, too (SIGABRT).
    if (base::Status met = meet("connected", "connect"); !met.ok()) {
      return met.error();
    }
  } catch (const std::exception& error) {
    return options.failed(fmt::format("cannot connect: {}", withoutLocation(error.what())));
  }
  return transport;
}

void Transport::keepVigil(int rank, int size) {
  for (const auto& context : contexts_) {
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank) {
        auto vigil = std::make_unique<Vigil>();
        vigil->peer = peer;
        vigil->buffer = context->createUnboundBuffer(&vigil->bytes[0], 1);
        vigil->buffer->recv(peer, kVigilSlot, 0, 1);
        vigil->farewell = context->createUnboundBuffer(&vigil->bytes[1], 1);
        vigil->farewell->recv(peer, kFarewellSlot, 0, 1);
        vigil->own = context->createUnboundBuffer(&vigil->bytes[2], 1);
        vigils_.push_back(std::move(vigil));
      }
    }
  }
}

Transport::~Transport() = default;

::gloo::Context* Transport::context(std::uint64_t turn) const {
  return contexts_.empty() ? nullptr : contexts_[turn % contexts_.size()].get();
}

std::optional<std::string> Transport::lost(int peer) {
  std::lock_guard lock(vigilMutex_);
  for (const auto& vigil : vigils_) {
    if (vigil->peer != peer) {
      continue;
    }
    try {
      // An aborted wait returns at once, or throws the connection's error if there is one.
      vigil->buffer->abortWaitRecv();
      vigil->buffer->waitRecv(nullptr, std::chrono::seconds(1));
    } catch (const std::exception& error) {
      return withoutLocation(error.what());
    }
  }
  return std::nullopt;
}

bool Transport::left(int peer) {
  if (!lost(peer)) {
    return false;
  }
  std::lock_guard lock(vigilMutex_);
  for (const auto& vigil : vigils_) {
    if (vigil->peer == peer && !vigil->left) {
      try {
        // It came before the connection broke, or never will, which is an exception at once.
        vigil->left =
            waited([&] { return vigil->farewell->waitRecv(nullptr, std::chrono::seconds(1)); });
      } catch (const std::exception&) {
        vigil->left = false;
      }
    }
  }
  return std::any_of(vigils_.begin(), vigils_.end(), [peer](const auto& vigil) {
    return vigil->peer == peer && vigil->left.value_or(false);
  });
}

void Transport::sayFarewell() {
  std::lock_guard lock(vigilMutex_);
  const auto until = std::chrono::steady_clock::now() + kFarewell;
  for (const bool waits : {false, true}) {
    for (const auto& vigil : vigils_) {
      const auto rest = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
      if (vigil->own == nullptr) {
        continue;
      }
      try {
        if (waits) {
          vigil->own->waitSend(nullptr, std::max(rest, milliseconds(1)));
        } else {
          vigil->own->send(vigil->peer, kFarewellSlot, 0, 1);
        }
      } catch (const std::exception&) {
        vigil->own = nullptr;  // the peer has gone before, or does not read
      }
    }
  }
}

void Transport::close() {
  // A socket that is closed with something unread, as with what peers have sent for a collective
  // that this rank never calls, is reset: what it has still to send is thrown away, and with it
  // this rank's part in collectives that it has ended and they have not.
  connections_.awaitDelivery(kFarewell);
  for (const auto& context : contexts_) {
    try {
      context->closeConnections();
    } catch (const std::exception&) {
      // It is closed already.
    }
  }
}

}  // namespace lockstep::process_group::gloo
