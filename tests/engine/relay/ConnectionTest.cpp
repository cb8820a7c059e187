// The encrypted connection of a relay and its head, over loopback.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "engine/relay/RelayClient.h"
#include "engine/relay/RelayServer.h"

namespace lockstep::relay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ConnectionTest : public testing::Test {
 protected:
  [[nodiscard]] Ticket ticket(const RunToken& token) const {
    return {fmt::format("tcp://127.0.0.1:{}", server->port()), token};
  }

  /// Turns both ends until `done`, ten seconds at most.
  void turnUntil(RelayClient* client, const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      server->pump(
          {[this](const RelayServer::Peer& peer, const std::string& address, FromRelay message) {
             peers.push_back(peer);
             addresses.push_back(address);
             received.push_back(std::move(message));
           },
           [this](const RelayServer::Peer& peer) { gone.push_back(peer); }});
      if (client != nullptr) {
        client->pump({[this](ToRelay message) { answers.push_back(std::move(message)); },
                      [this] { ++disconnected; }});
      }
      std::this_thread::yield();
    }
  }

  RunKeys keys = makeRunKeys();
  std::unique_ptr<RelayServer> server =
      std::move(RelayServer::listen("127.0.0.1", 0, keys)).value();
  std::vector<RelayServer::Peer> peers;
  std::vector<std::string> addresses;
  std::vector<FromRelay> received;
  std::vector<RelayServer::Peer> gone;
  std::vector<ToRelay> answers;
  int disconnected = 0;
};

TEST_F(ConnectionTest, WhoHasTheTokenIsHeardAndAnswered) {
  auto client = std::move(RelayClient::connect(ticket(keys.token))).value();
  Hello hello;
  hello.hostName = "b";
  ASSERT_TRUE(client->send(hello));
  turnUntil(client.get(), [&] { return !received.empty(); });
  EXPECT_EQ(std::get<Hello>(received[0]).hostName, "b");
  EXPECT_THAT(addresses, ElementsAre("127.0.0.1"));
  EXPECT_TRUE(server->send(peers[0], Ping{7}));
  turnUntil(client.get(), [&] { return !answers.empty(); });
  EXPECT_EQ(std::get<Ping>(answers[0]).id, 7U);
  EXPECT_EQ(server->refused().total(), 0U);
}

TEST_F(ConnectionTest, EachSideNoticesTheOtherSEnd) {
  auto client = std::move(RelayClient::connect(ticket(keys.token))).value();
  client->send(Hello{});
  turnUntil(client.get(), [&] { return !received.empty(); });
  client->send(StopAsked{"last word"});
  client.reset();
  turnUntil(nullptr, [&] { return !gone.empty(); });
  EXPECT_EQ(gone[0], peers[0]);
  ASSERT_EQ(received.size(), 2U) << "what was said before the end comes before it";
  EXPECT_EQ(server->refused().total(), 0U);

  auto other = std::move(RelayClient::connect(ticket(keys.token))).value();
  other->send(Hello{});
  turnUntil(other.get(), [&] { return received.size() == 3; });
  server.reset();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (disconnected == 0 && std::chrono::steady_clock::now() < deadline) {
    other->pump({[](const ToRelay&) {}, [this] { ++disconnected; }});
    std::this_thread::yield();
  }
  EXPECT_EQ(disconnected, 1);
}

TEST_F(ConnectionTest, AnotherClientKeyIsRefusedAndCounted) {
  RunToken wrong = keys.token;
  wrong.clientSecret = makeRunKeys().token.clientSecret;
  auto client = std::move(RelayClient::connect(ticket(wrong))).value();
  client->send(Hello{});
  turnUntil(client.get(), [&] { return server->refused().wrongToken > 0; });
  EXPECT_TRUE(received.empty());
  EXPECT_THAT(describe(server->refused()), HasSubstr("with a wrong token"));
}

TEST_F(ConnectionTest, WhoExpectsAnotherRecorderIsRefusedAndCounted) {
  RunToken wrong = keys.token;
  wrong.serverPublic = makeRunKeys().token.serverPublic;
  auto client = std::move(RelayClient::connect(ticket(wrong))).value();
  client->send(Hello{});
  // Either side may notice first.
  turnUntil(client.get(), [&] {
    return server->refused().noHandshake > 0 &&
           client->trouble().find("token") != std::string::npos;
  });
  EXPECT_TRUE(received.empty());
}

TEST_F(ConnectionTest, StrangersDoNotKeepTheHeadFromItsOtherWork) {
  constexpr int kStrangers = 300;
  for (int i = 0; i < kStrangers; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const std::string noise(64, 'x');
    ASSERT_EQ(send(fd, noise.data(), noise.size(), MSG_NOSIGNAL), 64);
    char byte = 0;
    while (recv(fd, &byte, 1, 0) > 0) {  // until it is shown the door
    }
    close(fd);
  }
  const RelayServer::Listener nobody{
      [](const RelayServer::Peer&, const std::string&, const FromRelay&) {},
      [](const RelayServer::Peer&) {}};
  EXPECT_TRUE(server->pump(nobody)) << "not all at once";
  turnUntil(nullptr, [&] { return server->refused().total() == kStrangers; });
}

TEST_F(ConnectionTest, APortThatIsTakenIsNamed) {
  const auto second = RelayServer::listen("127.0.0.1", server->port(), keys);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, base::ExitCode::kEnvironment);
  EXPECT_THAT(second.error().message(),
              HasSubstr(fmt::format("launch.listen 127.0.0.1:{}: the recorder cannot listen there: "
                                    "Address already in use",
                                    server->port())));
}

TEST(Endpoint, IsAHostAndAPort) {
  ASSERT_TRUE(endpointOf("tcp://10.0.0.1:41000").ok());
  EXPECT_EQ(endpointOf("tcp://10.0.0.1:41000").value().host, "10.0.0.1");
  EXPECT_EQ(endpointOf("tcp://10.0.0.1:41000").value().port, 41000);
  for (const char* wrong : {"", "10.0.0.1:41000", "tcp://:41000", "tcp://a", "tcp://a:0",
                            "tcp://a:65536", "tcp://a:1x"}) {
    EXPECT_FALSE(endpointOf(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace lockstep::relay
