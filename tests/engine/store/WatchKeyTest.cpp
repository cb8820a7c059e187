// watchKey: TCPStore and HashStore, and PrefixStore above them.

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>

#include "engine/base/Log.h"
#include "engine/store/FileStore.h"
#include "engine/store/HashStore.h"
#include "engine/store/PrefixStore.h"
#include "engine/store/TCPStore.h"
#include "tests/engine/store/StoreFixtures.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/RankThreads.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Keeps what a callback is told, as "before>after" with "-" for none.
class Diary {
 public:
  Store::WatchCallback callback() {
    return
        [this](const std::optional<std::string>& before, const std::optional<std::string>& after) {
          std::lock_guard lock(mutex_);
          entries_.push_back(before.value_or("-") + ">" + after.value_or("-"));
          grown_.notify_all();
        };
  }
  /// Returns the entries once there are `count`.
  std::vector<std::string> entries(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(grown_.wait_for(lock, 30s, [&] { return entries_.size() >= count; }))
        << entries_.size() << " of " << count << " changes were told";
    return entries_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable grown_;
  std::vector<std::string> entries_;
};

class WatchKey : public testing::TestWithParam<std::string> {
 protected:
  WatchKey() { base::configureLog(""); }

  std::shared_ptr<Store> open() {
    std::shared_ptr<Store> store = hash_;
    if (GetParam().ends_with("TCP")) {
      store = std::make_shared<TCPStore>("127.0.0.1", clientOptions(server_->port()));
    }
    if (GetParam().starts_with("Prefix")) {
      store = std::make_shared<PrefixStore>("group", store);
    }
    return store;
  }

 private:
  std::shared_ptr<HashStore> hash_ = std::make_shared<HashStore>(30s);
  std::unique_ptr<TCPStore> server_ = std::make_unique<TCPStore>("127.0.0.1", serverOptions());
};

TEST_P(WatchKey, TellsOfEveryKindOfChangeInItsOrder) {
  Diary diary;
  auto store = open();
  auto other = open();
  store->watchKey("key", diary.callback());
  other->set("key", "1");
  other->set("another", "x");
  other->set("key", "1");
  other->add("key", 4);
  other->append("key", "0");
  other->compareSet("key", "wrong", "not written");
  other->compareSet("key", "50", "fifty");
  other->multiSet({"key", "another"}, {"60", "y"});
  other->deleteKey("key");
  other->deleteKey("key");
  other->compareSet("key", "", "new");
  EXPECT_THAT(diary.entries(8),
              ElementsAre("->1", "1>1", "1>5", "5>50", "50>fifty", "fifty>60", "60>-", "->new"));
}

TEST_P(WatchKey, TellsEachOfTwoWatchers) {
  Diary first;
  Diary second;
  auto store = open();
  store->watchKey("key", first.callback());
  store->set("key", "1");
  store->watchKey("key", second.callback());
  store->set("key", "2");
  EXPECT_THAT(first.entries(2), ElementsAre("->1", "1>2"));
  EXPECT_THAT(second.entries(1), ElementsAre("1>2"));
}

TEST_P(WatchKey, LetsACallbackUseTheStore) {
  auto store = open();
  store->watchKey("question", [&store](const auto&, const auto& after) {
    store->set("answer", "to " + *after);
  });
  store->set("question", "why");
  EXPECT_EQ(store->get("answer"), "to why");
}

TEST_P(WatchKey, OutlivesACallbackThatThrows) {
  Diary diary;
  auto store = open();
  auto told = diary.callback();
  store->watchKey("key", [&](const auto& before, const auto& after) {
    told(before, after);
    throw std::runtime_error("the callback's own trouble");
  });
  testing::internal::CaptureStderr();
  store->set("key", "1");
  store->set("key", "2");
  EXPECT_THAT(diary.entries(2), ElementsAre("->1", "1>2"));
  store.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the callback's own trouble"));
}

TEST_P(WatchKey, TellsOfEveryChangeThatFourRanksMake) {
  Diary diary;
  auto store = open();
  store->watchKey("counter", diary.callback());
  support::runRanks(4, [&](int) {
    auto own = open();
    for (int i = 0; i < 250; ++i) {
      own->add("counter", 1);
    }
  });
  const auto entries = diary.entries(1000);
  ASSERT_EQ(entries.size(), 1000U);
  EXPECT_EQ(entries.front(), "->1");
  for (std::size_t i = 1; i < entries.size(); ++i) {
    ASSERT_EQ(entries[i], std::to_string(i) + ">" + std::to_string(i + 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, WatchKey,
                         testing::Values("Hash", "TCP", "PrefixHash", "PrefixTCP"),
                         [](const auto& info) { return info.param; });

TEST(WatchKeyEnd, ComesWithTheStoreThatWatches) {
  TCPStore server("127.0.0.1", serverOptions());
  std::atomic<int> told = 0;
  {
    TCPStore watching("127.0.0.1", clientOptions(server.port()));
    watching.watchKey("key", [&](const auto&, const auto&) { ++told; });
    for (int i = 0; i < 100; ++i) {
      server.add("key", 1);
    }
  }
  const int before = told;
  for (int i = 0; i < 100; ++i) {
    server.add("key", 1);
  }
  EXPECT_EQ(told, before);
  EXPECT_EQ(server.get("key"), "200");
}

TEST(WatchKeyEnd, WaitsForTheCallbackThatRuns) {
  auto store = std::make_unique<HashStore>();
  std::promise<void> running;
  std::promise<void> release;
  std::atomic<bool> done = false;
  store->watchKey("key", [&](const auto&, const auto&) {
    running.set_value();
    release.get_future().wait();
    done = true;
  });
  store->set("key", "1");
  running.get_future().wait();
  auto ended = std::async(std::launch::async, [&] { store.reset(); });
  release.set_value();
  ended.get();
  EXPECT_TRUE(done);
}

/// Serves a store and prints its port, until its input ends with it.
int serveWatched(const std::vector<std::string>&) {
  TCPStore store("127.0.0.1", serverOptions());
  std::printf("%d\n", store.port());
  std::fflush(stdout);
  store.wait({"end"}, 60s);
  return 0;
}

const support::RegisterChildRole servingWatched("serve-watched-store", serveWatched);

TEST(WatchKeyEnd, IsLoggedWhenTheServerGoes) {
  base::configureLog("");
  auto server = support::ChildProcess::self("serve-watched-store");
  const auto port = static_cast<std::uint16_t>(std::stoi(server.readLine()));
  TCPStore client("127.0.0.1", clientOptions(port));
  Diary diary;
  testing::internal::CaptureStderr();
  client.watchKey("key", diary.callback());
  client.set("key", "1");
  EXPECT_THAT(diary.entries(1), ElementsAre("->1"));
  server.kill(SIGKILL);
  server.wait();
  std::string log;
  for (int i = 0; i < 3000 && log.find('\n') == std::string::npos; ++i) {
    std::this_thread::sleep_for(10ms);
    log += testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
  }
  log += testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, AllOf(HasSubstr("127.0.0.1:" + std::to_string(port)),
                         HasSubstr("\"key\" is no longer watched")));
}

TEST(WatchKeyEnd, IsAtOnceForAFileStore) {
  support::TemporaryFolder folder;
  FileStore store({(folder / "store").string(), 1});
  try {
    store.watchKey("key", [](const auto&, const auto&) {});
    FAIL() << "no StoreError";
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("watchKey \"key\""), HasSubstr("TCPStore and HashStore have it")));
  }
}

}  // namespace
}  // namespace lockstep::store
