#include "engine/base/posix/Connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include "engine/base/posix/Descriptor.h"

namespace lockstep::posix {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kNever{60'000};

/// Two ends of a TCP connection. `near` has sent all that fits; its peer has read nothing.
struct FullConnection {
  Descriptor near;
  Descriptor far;

  FullConnection() {
    const Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    near = Descriptor(socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(connect(near.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    far = Descriptor(accept(listener.get(), nullptr, nullptr));
    const std::array<char, 65'536> bytes{};
    while (send(near.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
  }

  void read(std::size_t size) const {
    std::vector<char> bytes(size);
    EXPECT_EQ(recv(far.get(), bytes.data(), size, MSG_WAITALL), static_cast<ssize_t>(size));
  }
  void readAll() const {
    std::array<char, 65'536> bytes{};
    shutdown(near.get(), SHUT_WR);
    while (recv(far.get(), bytes.data(), bytes.size(), 0) > 0) {
    }
  }
};

TEST(Connections, WaitUntilThePeersHostHasWhatWasSent) {
  const Connections before = openConnections();
  const FullConnection connection;
  const Connections made = openConnections(before);
  std::latch waits(1);
  std::atomic<bool> reads = false;
  std::thread peer([&] {
    waits.wait();
    reads = true;
    connection.readAll();
  });
  waits.count_down();
  const auto begin = Clock::now();
  awaitDelivery(made, kNever, kNever);
  EXPECT_TRUE(reads);
  EXPECT_LT(Clock::now() - begin, kNever);
  peer.join();
}

TEST(Connections, WaitForAPeerThatDoesNotReadForAsLongAsTheyAreTold) {
  const FullConnection connection;
  const auto begin = Clock::now();
  awaitDelivery(openConnections(), milliseconds(20), kNever);
  awaitDelivery(openConnections(), kNever, milliseconds(20));
  EXPECT_GE(Clock::now() - begin, milliseconds(40));
  EXPECT_LT(Clock::now() - begin, kNever);
}

TEST(Connections, WaitLongerForAPeerThatReadsSlowly) {
  constexpr milliseconds kStill{1'000};
  const Connections before = openConnections();
  const FullConnection connection;
  const Connections made = openConnections(before);
  std::atomic<bool> last = false;
  std::thread peer([&] {
    const auto until = Clock::now() + 2 * kStill;
    while (Clock::now() < until) {
      connection.read(4'096);
      std::this_thread::sleep_for(milliseconds(10));
    }
    last = true;
    connection.readAll();
  });
  awaitDelivery(made, kStill, kNever);
  EXPECT_TRUE(last);
  peer.join();
}

TEST(Connections, CountWhatMoves) {
  const Connections before = openConnections();
  const FullConnection connection;
  const Connections made = openConnections(before);
  const std::uint64_t atFirst = movedBytes(made);
  EXPECT_EQ(movedBytes(made), atFirst);
  connection.read(1'000);
  EXPECT_GE(movedBytes(made), atFirst + 1'000);
}

TEST(Connections, DoNotWaitForOthersNorForThoseThatAreClosed) {
  const FullConnection another;
  const Connections before = openConnections();
  Connections made;
  {
    const FullConnection closed;
    made = openConnections(before);
  }
  const auto begin = Clock::now();
  awaitDelivery(made, kNever, kNever);
  EXPECT_LT(Clock::now() - begin, kNever);
}

}  // namespace
}  // namespace lockstep::posix
