// What happens to a TCPStore when processes die, stop, or speak nonsense.

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <future>
#include <optional>
#include <random>
#include <thread>

#include "engine/store/TCPStore.h"
#include "engine/store/detail/Socket.h"
#include "engine/store/detail/Wire.h"
#include "tests/engine/store/StoreFixtures.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;
using base::ByteWriter;
using detail::Deadline;
using detail::Request;
using detail::Transfer;
using posix::Descriptor;
using support::ChildProcess;
using testing::AllOf;
using testing::HasSubstr;

/// Serves a store and prints its port.
int serve(const std::vector<std::string>&) {
  TCPStore store("127.0.0.1", serverOptions());
  std::printf("%d\n", store.port());
  std::fflush(stdout);
  for (;;) {
    pause();
  }
}

/// Waits for a key that never comes.
int waitInVain(const std::vector<std::string>& arguments) {
  TCPStore store("127.0.0.1", clientOptions(portFrom(arguments.at(0))));
  std::printf("waiting\n");
  std::fflush(stdout);
  store.get("never");
  return 0;
}

const support::RegisterChildRole serving("serve-store", serve);
const support::RegisterChildRole waiting("wait-in-vain", waitInVain);

std::uint16_t portOf(ChildProcess& server) { return portFrom(server.readLine()); }

TEST(TcpFault, AKilledServerEndsAWaitAtOnce) {
  auto server = ChildProcess::self("serve-store");
  const std::uint16_t port = portOf(server);
  TCPStore client("127.0.0.1", clientOptions(port));
  auto failure =
      std::async(std::launch::async, [&] { return failureOf([&] { client.get("never"); }); });
  TCPStore other("127.0.0.1", clientOptions(port));
  other.set("key", "value");
  const auto start = std::chrono::steady_clock::now();
  server.kill(SIGKILL);
  EXPECT_THAT(failure.get(), HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  EXPECT_EQ(server.wait().signal, SIGKILL);
  EXPECT_THAT(failureOf([&] { other.set("key", "value"); }),
              AllOf(HasSubstr("set \"key\""), HasSubstr("has ended")));
  EXPECT_THAT(failureOf([&] { other.set("key", "value"); }),
              AllOf(HasSubstr("Connection refused"), HasSubstr("has ended")));
}

TEST(TcpFault, AStoppedServerEndsAWaitAtItsTimeLimit) {
  auto server = ChildProcess::self("serve-store");
  TCPStore client("127.0.0.1", clientOptions(portOf(server), 200ms));
  server.kill(SIGSTOP);
  EXPECT_THAT(failureOf([&] { client.get("never"); }),
              AllOf(HasSubstr("timeout after 200 ms"), HasSubstr("does not answer")));
}

TEST(TcpFault, KilledClientsDoNotDisturbTheServer) {
  TCPStore server("127.0.0.1", serverOptions());
  auto clients = support::spawnSelfAsRanks(3, "wait-in-vain", {std::to_string(server.port())});
  for (auto& client : clients) {
    client.readLine();
    client.kill(SIGKILL);
    EXPECT_EQ(client.wait().signal, SIGKILL);
  }
  server.set("never", "after all");
  EXPECT_EQ(server.get("never"), "after all");
}

/// A connection that says what it likes.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port)
      : socket_(detail::connectTo("127.0.0.1", port, Deadline(10s), 10s)) {}

  void send(const std::string& bytes) {
    // A server that has closed already is one of the right answers.
    (void)detail::sendAll(socket_.get(), bytes, Deadline(10s));
  }
  void finish() { shutdown(socket_.get(), SHUT_WR); }
  bool receives(std::size_t count) {
    std::string bytes;
    return detail::receiveAll(socket_.get(), bytes, count, Deadline(10s)) == Transfer::kDone;
  }
  /// Reads until the server closes; returns whether it does.
  bool isClosed() {
    std::string bytes;
    Transfer result = Transfer::kDone;
    while (result == Transfer::kDone) {
      result = detail::receiveAll(socket_.get(), bytes, 4096, Deadline(10s));
    }
    return result == Transfer::kClosed;
  }

 private:
  Descriptor socket_;
};

class TcpFaultServer : public testing::Test {
 protected:
  TcpFaultServer() {
    server.emplace("127.0.0.1", serverOptions());
  }

  ~TcpFaultServer() override {
    TCPStore client("127.0.0.1", clientOptions(server->port()));
    client.set("alive", "yes");
    EXPECT_EQ(server->get("alive"), "yes");
  }

  std::string frame(Request request, const std::string& fields) {
    return detail::framed(std::string(1, static_cast<char>(request)) + fields);
  }

  std::optional<TCPStore> server;
};

TEST_F(TcpFaultServer, TurnsAwayWhoeverSpeaksAnotherLanguage) {
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(client.isClosed());
}

TEST_F(TcpFaultServer, KeepsNoMoreThanItsLimitHoweverManyKeysShareIt) {
  TCPStore client("127.0.0.1", clientOptions(server->port()));
  const std::string value(60'000'000, 'x');
  for (int i = 0; i < 4; ++i) {
    client.set("key " + std::to_string(i), value);
  }
  for (const std::string& failure : {failureOf([&] { client.set("fifth", value); }),
                                     failureOf([&] { client.append("fifth", value); }),
                                     failureOf([&] { client.multiSet({"fifth"}, {value}); }),
                                     failureOf([&] { client.compareSet("fifth", "", value); })}) {
    EXPECT_THAT(failure, AllOf(HasSubstr("bytes are too many"), HasSubstr("a store 268435456")));
  }
  EXPECT_FALSE(client.check({"fifth"}));
  client.set("key 0", value);  // in the place of as much
  client.deleteKey("key 1");
  client.set("fifth", value);
  EXPECT_TRUE(client.check({"fifth"}));
}

/// A server that asks for a token.
class TcpFaultToken : public testing::Test {
 protected:
  TcpFaultToken() {
    TCPStoreOptions options = serverOptions();
    options.token = "0123456789abcdef";
    server_.emplace("127.0.0.1", options);
  }
  [[nodiscard]] TCPStoreOptions optionsWith(const std::string& token) const {
    TCPStoreOptions options = clientOptions(server_->port());
    options.token = token;
    options.timeout = 500ms;
    return options;
  }

  std::optional<TCPStore> server_;
};

TEST_F(TcpFaultToken, TakesWhoeverHasIt) {
  TCPStore client("127.0.0.1", optionsWith("0123456789abcdef"));
  client.set("key", "value");
  EXPECT_EQ(server_->get("key"), "value");
}

TEST_F(TcpFaultToken, TurnsAwayWhoeverHasNoneOrAnotherRuns) {
  EXPECT_THAT(failureOf([&] { TCPStore("127.0.0.1", optionsWith("0123456789abcdeX")); }),
              HasSubstr("no store of Lockstep, or another run's"));
  EXPECT_THAT(failureOf([&] { TCPStore("127.0.0.1", optionsWith("")); }),
              HasSubstr("this process one of its run's ranks"));
}

TEST_F(TcpFaultToken, TakesNoByteOfAStrangerThatKnowsTheHello) {
  std::string fields;
  ByteWriter writer(fields);
  writer.text("/key");
  writer.text(std::string(60'000'000, 'x'));
  RawClient client(server_->port());
  client.send(std::string(detail::kHello) +
              detail::framed(std::string(1, static_cast<char>(Request::kSet)) + fields));
  EXPECT_TRUE(client.isClosed());
  EXPECT_FALSE(server_->check({"key"}));
}

TEST_F(TcpFaultServer, TurnsAwayFramesThatBreakTheRules) {
  const std::string hello(detail::kHello);
  const std::string longText("\xff\xff\xff\x7f", 4);
  std::string doubled;
  ByteWriter(doubled).text("key");
  for (const std::string& bytes :
       {std::string("\0\0\0\0", 4), std::string("\xff\xff\xff\xff", 4), frame(Request{0}, ""),
        frame(Request{200}, ""), frame(Request::kSet, ""), frame(Request::kSet, longText),
        frame(Request::kSet, doubled), frame(Request::kGet, doubled),
        frame(Request::kCheck, longText), frame(Request::kWait, longText),
        frame(Request::kAdd, doubled + "123"), frame(Request::kDelete, doubled + "more"),
        frame(Request::kAppend, doubled), frame(Request::kMultiGet, longText),
        frame(Request::kMultiSet, std::string("\1\0\0\0", 4) + doubled),
        frame(Request::kWatch, doubled + "more"), frame(Request::kNumKeys, "more")}) {
    RawClient client(server->port());
    client.send(hello + bytes);
    EXPECT_TRUE(client.isClosed());
  }
}

TEST_F(TcpFaultServer, ReadsAFrameThatComesByteByByte) {
  std::string fields;
  ByteWriter writer(fields);
  writer.text("/slow");
  writer.text("value");
  RawClient client(server->port());
  for (const char byte : std::string(detail::kHello) + frame(Request::kSet, fields)) {
    client.send(std::string(1, byte));
  }
  EXPECT_TRUE(client.receives(detail::kHello.size() + 5));
  EXPECT_EQ(server->get("slow"), "value");
}

TEST_F(TcpFaultServer, AnswersRequestsThatComeInOnePiece) {
  std::string add;
  ByteWriter writer(add);
  writer.text("/sum");
  writer.put<std::int64_t>(1);
  std::string all(detail::kHello);
  for (int i = 0; i < 1000; ++i) {
    all += frame(Request::kAdd, add);
  }
  RawClient client(server->port());
  client.send(all);
  EXPECT_TRUE(client.receives(detail::kHello.size() + 1000 * 13));
  EXPECT_EQ(server->get("sum"), "1000");
}

TEST_F(TcpFaultServer, StopsReadingAClientThatTakesNoReplies) {
  server->set("large", std::string(8'000'000, 'x'));
  std::string get;
  ByteWriter writer(get);
  writer.text("/large");
  writer.put<std::int64_t>(1000);
  RawClient client(server->port());
  client.send(std::string(detail::kHello));
  for (int i = 0; i < 20; ++i) {
    client.send(frame(Request::kGet, get));
  }
  server->set("others", "go on");
  EXPECT_EQ(server->get("others"), "go on");
}

TEST_F(TcpFaultServer, DropsAWatcherThatReadsNothing) {
  std::string key;
  ByteWriter(key).text("/watched");
  RawClient client(server->port());
  client.send(std::string(detail::kHello) + frame(Request::kWatch, key));
  EXPECT_TRUE(client.receives(detail::kHello.size() + 5));
  const std::string value(60'000'000, 'x');
  for (int i = 0; i < 4; ++i) {
    server->set("watched", value);
  }
  EXPECT_TRUE(client.isClosed()) << "more is unread than the server keeps";
}

TEST_F(TcpFaultServer, OutlivesRandomBytes) {
  std::mt19937 random(20240601);
  const auto number = [&random](std::uint32_t below) { return random() % below; };
  for (int round = 0; round < 400; ++round) {
    RawClient client(server->port());
    std::string bytes = number(8) == 0 ? "" : std::string(detail::kHello);
    for (std::uint32_t frames = number(6); frames-- > 0;) {
      std::string fields;
      ByteWriter writer(fields);
      for (std::uint32_t parts = number(4); parts-- > 0;) {
        switch (number(4)) {
          case 0:
            writer.text("/key " + std::to_string(number(5)));
            break;
          case 1:
            writer.put<std::int64_t>(static_cast<std::int64_t>(number(20)) - 5);
            break;
          case 2:
            writer.put<std::uint32_t>(number(3) == 0 ? 0xffffffffU : number(9));
            break;
          default:
            writer.put<std::uint8_t>(static_cast<std::uint8_t>(number(256)));
        }
      }
      bytes += frame(static_cast<Request>(number(16)), fields);
    }
    if (number(3) == 0 && !bytes.empty()) {
      bytes[number(static_cast<std::uint32_t>(bytes.size()))] ^= static_cast<char>(1 + number(255));
    }
    client.send(bytes);
    if (number(2) == 0) {
      client.finish();
    }
  }
}

TEST(TcpFault, AClientSaysThatItMetNoStore) {
  detail::Listener stranger = detail::listenOn("127.0.0.1", 0);
  auto failure = std::async(std::launch::async, [&] {
    return failureOf([&] { TCPStore("127.0.0.1", clientOptions(stranger.port, 30s)); });
  });
  int fd = -1;
  while ((fd = accept(stranger.socket.get(), nullptr, nullptr)) < 0) {
    std::this_thread::yield();
  }
  const std::string banner = "SSH-2.0-OpenSSH_9.2\r\n";
  EXPECT_EQ(send(fd, banner.data(), banner.size(), 0), static_cast<ssize_t>(banner.size()));
  EXPECT_THAT(failure.get(), HasSubstr("no store of Lockstep"));
  close(fd);
}

TEST(TcpFault, AClientGivesUpOnAStrangerWhoSaysNothing) {
  detail::Listener stranger = detail::listenOn("127.0.0.1", 0);
  EXPECT_THAT(failureOf([&] { TCPStore("127.0.0.1", clientOptions(stranger.port, 50ms)); }),
              AllOf(HasSubstr("timeout after 50 ms"), HasSubstr("nothing answers")));
}

}  // namespace
}  // namespace lockstep::store
