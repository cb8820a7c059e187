#include "engine/store/TCPStore.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "engine/store/PrefixStore.h"
#include "tests/engine/store/StoreFixtures.h"
#include "tests/support/RankThreads.h"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

TEST(TCPStore, PicksAPortWhenAskedForNone) {
  TCPStore server("127.0.0.1", serverOptions());
  EXPECT_NE(server.port(), 0);
  TCPStore client("127.0.0.1", clientOptions(server.port()));
  server.set("key", "value");
  EXPECT_EQ(client.get("key"), "value");
}

TEST(TCPStore, SaysThatThePortIsTakenAndWhatToDo) {
  TCPStore server("127.0.0.1", serverOptions());
  auto options = serverOptions();
  options.port = server.port();
  EXPECT_THAT(failureOf([&] { TCPStore("127.0.0.1", options); }),
              AllOf(HasSubstr("server socket has failed to listen on any local network address"),
                    HasSubstr(std::to_string(server.port())), HasSubstr("Address already in use"),
                    HasSubstr("choose another port")));
}

TEST(TCPStore, SharesOneServerAmongTenants) {
  auto options = serverOptions();
  options.multiTenant = true;
  auto first = std::make_unique<TCPStore>("127.0.0.1", options);
  options.port = first->port();
  TCPStore second("127.0.0.1", options);
  first->set("key", "value");
  EXPECT_EQ(second.get("key"), "value");
  first.reset();
  EXPECT_EQ(second.get("key"), "value") << "the server outlives its first owner";
  EXPECT_EQ(TCPStore("127.0.0.1", clientOptions(options.port)).get("key"), "value");
}

TEST(TCPStore, FreesThePortWithTheLastTenant) {
  auto options = serverOptions();
  options.multiTenant = true;
  for (int round = 0; round < 2; ++round) {
    TCPStore store("127.0.0.1", options);
    options.port = store.port();
    EXPECT_FALSE(store.check({"key"}));
    store.set("key", "value");
  }
}

TEST(TCPStore, StartsOnceTheLastWorkerHasCome) {
  // The first tenant finds a free port; the job's own server, on the same port, waits for all.
  auto options = serverOptions();
  options.multiTenant = true;
  TCPStore first("127.0.0.1", options);
  options.port = first.port();
  options.numWorkers = 4;
  std::atomic<int> come = 1;
  support::runRanks(3, [&](int rank) {
    auto own = options;
    own.isServer = rank == 0;
    come += rank == 0 ? 0 : 1;
    TCPStore store("127.0.0.1", own);
    if (rank == 0) {
      EXPECT_EQ(come, 3);
    }
  });
  EXPECT_EQ(first.getNumKeys(), 1);
}

TEST(TCPStore, SaysHowManyWorkersHaveCome) {
  auto options = serverOptions();
  options.numWorkers = 4;
  options.timeout = 50ms;
  EXPECT_THAT(failureOf([&] { TCPStore("127.0.0.1", options); }),
              AllOf(HasSubstr("timeout after 50 ms"), HasSubstr("1 of 4 have come")));
}

TEST(TCPStore, LetsAClientComeBeforeItsServer) {
  const std::uint16_t port = TCPStore("127.0.0.1", serverOptions()).port();
  std::promise<void> trying;
  auto client = std::async(std::launch::async, [&] {
    trying.set_value();
    return TCPStore("127.0.0.1", clientOptions(port)).get("key");
  });
  trying.get_future().wait();
  auto options = serverOptions();
  options.port = port;
  TCPStore server("127.0.0.1", options);
  server.set("key", "value");
  EXPECT_EQ(client.get(), "value");
}

TEST(TCPStore, SaysThatNobodyServesThere) {
  auto options = clientOptions(TCPStore("127.0.0.1", serverOptions()).port());
  options.timeout = 50ms;
  EXPECT_THAT(failureOf([&] { TCPStore("127.0.0.1", options); }),
              AllOf(HasSubstr("timeout after 50 ms"), HasSubstr("Connection refused"),
                    HasSubstr("127.0.0.1:")));
}

TEST(TCPStore, NamesAHostThatCannotBeFound) {
  auto options = clientOptions(1);
  options.timeout = 20ms;
  EXPECT_THAT(failureOf([&] { TCPStore("no.such.host.invalid", options); }),
              AllOf(HasSubstr("no.such.host.invalid:1"), HasSubstr("timeout")));
}

TEST(TCPStore, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(failureOf([] { TCPStore("127.0.0.1", clientOptions(0)); }),
              HasSubstr("a client needs the server's port"));
  auto options = serverOptions();
  options.numWorkers = 0;
  EXPECT_THAT(failureOf([&] { TCPStore("127.0.0.1", options); }), HasSubstr("at least 1"));
}

TEST(TCPStore, FindsHostsByName) {
  TCPStore server("localhost", serverOptions());
  server.set("key", "value");
  EXPECT_EQ(TCPStore("localhost", clientOptions(server.port())).get("key"), "value");
}

TEST(TCPStore, ListensOnEveryAddressForANameThatIsNotTheLoopback) {
  TCPStore server("0.0.0.0", serverOptions());
  server.set("key", "value");
  EXPECT_EQ(TCPStore("127.0.0.1", clientOptions(server.port())).get("key"), "value");
}

TEST(TCPStore, ListensOnlyAtTheAddressThatIsAskedFor) {
  auto options = serverOptions();
  options.listenAddress = "127.0.0.1";
  TCPStore server("0.0.0.0", options);
  server.set("key", "value");
  EXPECT_EQ(TCPStore("127.0.0.1", clientOptions(server.port())).get("key"), "value");
  EXPECT_THAT(failureOf([&] { TCPStore("127.0.0.2", clientOptions(server.port(), 50ms)); }),
              HasSubstr("Connection refused"));
}

TEST(TCPStore, SpeaksIPv6) {
  std::unique_ptr<TCPStore> server;
  try {
    server = std::make_unique<TCPStore>("::1", serverOptions());
  } catch (const StoreError& error) {
    GTEST_SKIP() << "this machine has no IPv6 loopback: " << error.what();
  }
  server->set("key", "value");
  EXPECT_EQ(TCPStore("::1", clientOptions(server->port())).get("key"), "value");
  EXPECT_THAT(failureOf([&] { server->wait({"absent"}, 1ms); }), HasSubstr("store [::1]:"));
}

TEST(TCPStore, ServesSixteenClientsWhichComeAndGo) {
  TCPStore server("127.0.0.1", serverOptions());
  for (const std::string prefix : {"", "group"}) {
    support::runRanks(16, [&](int rank) {
      auto client = std::make_shared<TCPStore>("127.0.0.1", clientOptions(server.port()));
      std::shared_ptr<Store> store = client;
      if (!prefix.empty()) {
        store = std::make_shared<PrefixStore>(prefix, client);
      }
      for (int i = 0; i < 1000; ++i) {
        store->add("counter", 1);
      }
      const std::string own = "rank " + std::to_string(rank);
      for (int i = 0; i < 1000; ++i) {
        store->set(own, std::to_string(i));
        ASSERT_EQ(store->get(own), std::to_string(i));
      }
    });
  }
  EXPECT_EQ(server.get("counter"), "16000");
  EXPECT_EQ(server.get("group/counter"), "16000");
}

TEST(TCPStore, RefusesAKeyThatIsTooLong) {
  TCPStore server("127.0.0.1", serverOptions());
  EXPECT_THAT(failureOf([&] { server.set(std::string(100'000, 'k'), "value"); }),
              HasSubstr("too long"));
  server.set("short", "value");
  EXPECT_EQ(server.get("short"), "value");
}

TEST(TCPStore, RefusesToAppendBeyondTheLongestValue) {
  TCPStore store("127.0.0.1", serverOptions());
  store.set("large", std::string(60U << 20, 'x'));
  EXPECT_THAT(failureOf([&] { store.append("large", std::string(5U << 20, 'x')); }),
              AllOf(HasSubstr("append"), HasSubstr("large\""), HasSubstr("67108864")));
  store.append("large", "y");
  EXPECT_EQ(store.get("large").size(), (60U << 20) + 1);
}

TEST(TCPStore, KeepsNoConnectionPerCall) {
  TCPStore server("127.0.0.1", serverOptions());
  for (int i = 0; i < 3000; ++i) {
    server.add("key", 1);
  }
  EXPECT_EQ(server.get("key"), "3000");
}

}  // namespace
}  // namespace lockstep::store
