// What every store must do, whatever carries it.

#include <gmock/gmock.h>

#include <future>
#include <limits>
#include <thread>

#include "engine/store/FileStore.h"
#include "engine/store/HashStore.h"
#include "engine/store/PrefixStore.h"
#include "engine/store/TCPStore.h"
#include "tests/engine/store/StoreFixtures.h"
#include "tests/support/RankThreads.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// One store in the hands of several ranks; each has its own object where the store is shared
/// between processes.
class Backend {
 public:
  explicit Backend(const std::string& name) : name_(name) {
    if (name.find("Hash") != std::string::npos) {
      hash_ = std::make_shared<HashStore>(30s);
    } else if (name.find("TCP") != std::string::npos) {
      server_ = std::make_shared<TCPStore>("127.0.0.1", serverOptions());
    }
  }

  std::shared_ptr<Store> open() {
    std::shared_ptr<Store> store = openPlain();
    if (name_.starts_with("Prefix")) {
      store = std::make_shared<PrefixStore>("group", store);
    }
    return store;
  }

  /// Keys the store itself keeps.
  [[nodiscard]] int ownKeys() const { return hash_ ? 0 : 1; }

 private:
  std::shared_ptr<Store> openPlain() {
    if (hash_) {
      return hash_;
    }
    if (server_) {
      return std::make_shared<TCPStore>("127.0.0.1", clientOptions(server_->port()));
    }
    return std::make_shared<FileStore>(
        FileStoreOptions{(folder_ / "store").string(), 1000, "", 30s});
  }

  std::string name_;
  support::TemporaryFolder folder_;
  std::shared_ptr<HashStore> hash_;
  std::shared_ptr<TCPStore> server_;
};

class StoreContract : public testing::TestWithParam<std::string> {
 protected:
  Backend backend{GetParam()};
  std::shared_ptr<Store> store = backend.open();
};

TEST_P(StoreContract, GivesBackWhatWasSet) {
  store->set("key", "value0");
  store->set("key", "value1");
  EXPECT_EQ(store->get("key"), "value1");
  EXPECT_EQ(backend.open()->get("key"), "value1");
}

TEST_P(StoreContract, KeepsBytesOfAnyKindAndLength) {
  const std::string bytes("\0\xff\n/\"", 5);
  store->set("bytes", bytes);
  store->set(bytes, "under a strange key");
  store->set("", "");
  store->set("large", std::string(3'000'000, 'x'));
  EXPECT_EQ(store->get("bytes"), bytes);
  EXPECT_EQ(store->get(bytes), "under a strange key");
  EXPECT_EQ(store->get(""), "");
  EXPECT_EQ(store->get("large"), std::string(3'000'000, 'x'));
}

TEST_P(StoreContract, KeepsSumsAsDecimalText) {
  EXPECT_EQ(store->add("sum", 1), 1);
  EXPECT_EQ(store->add("sum", 2), 3);
  EXPECT_EQ(store->add("sum", 3), 6);
  EXPECT_EQ(store->get("sum"), "6");
  EXPECT_EQ(store->add("sum", -10), -4);
  EXPECT_EQ(store->get("sum"), "-4");
  store->set("text", "41");
  EXPECT_EQ(store->add("text", 1), 42);
}

TEST_P(StoreContract, KeepsTextsAndSumsSideBySide) {
  store->set("text", "value0");
  for (int i = 1; i <= 6; ++i) {
    store->add("first", i <= 3 ? i : 0);
    store->add("second", i);
  }
  store->set("text", "value1");
  EXPECT_EQ(store->get("first"), "6");
  EXPECT_EQ(store->get("second"), "21");
  EXPECT_EQ(store->get("text"), "value1");
  EXPECT_EQ(store->getNumKeys(), backend.ownKeys() + 3);
}

TEST_P(StoreContract, TakesKeysThatLookLikeNumbers) {
  store->set("-3", "7");
  EXPECT_EQ(store->get("-3"), "7");
  EXPECT_EQ(store->add("-3", -1), 6);
}

TEST_P(StoreContract, RefusesToAddToWhatIsNoNumber) {
  for (const std::string value : {"seven", "7 ", "0x7", "", "9223372036854775808"}) {
    store->set("word", value);
    EXPECT_THAT(failureOf([&] { store->add("word", 1); }),
                AllOf(HasSubstr("add"), HasSubstr("word\""), HasSubstr("not a number")));
    EXPECT_EQ(store->get("word"), value);
  }
}

TEST_P(StoreContract, RefusesASumBeyond64Bits) {
  store->add("sum", std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(store->add("sum", 1), StoreError);
  EXPECT_EQ(store->add("sum", -1), std::numeric_limits<std::int64_t>::max() - 1);
}

TEST_P(StoreContract, ComparesBeforeItSets) {
  EXPECT_EQ(store->compareSet("cs", "expected", "new"), "expected") << "absent: creates nothing";
  EXPECT_FALSE(store->check({"cs"}));
  EXPECT_EQ(store->compareSet("cs", "", "first"), "first") << "absent, nothing expected: creates";
  EXPECT_EQ(store->get("cs"), "first");
  EXPECT_EQ(store->compareSet("cs", "wrong", "second"), "first") << "differs: leaves it";
  EXPECT_EQ(store->get("cs"), "first");
  EXPECT_EQ(store->compareSet("cs", "first", "second"), "second") << "equal: writes";
  EXPECT_EQ(store->get("cs"), "second");
  EXPECT_EQ(store->compareSet("cs", "", "third"), "second") << "there, nothing expected: leaves it";
}

TEST_P(StoreContract, CountsKeysAndItsOwn) {
  EXPECT_EQ(store->getNumKeys(), backend.ownKeys());
  store->set("a", "1");
  store->set("b", "2");
  store->add("c", 1);
  EXPECT_EQ(store->getNumKeys(), backend.ownKeys() + 3);
  EXPECT_TRUE(store->deleteKey("a"));
  EXPECT_FALSE(store->deleteKey("a"));
  EXPECT_FALSE(store->deleteKey("never there"));
  EXPECT_EQ(store->getNumKeys(), backend.ownKeys() + 2);
}

TEST_P(StoreContract, ForgetsADeletedKey) {
  store->set("key", "value");
  EXPECT_TRUE(store->deleteKey("key"));
  EXPECT_FALSE(store->check({"key"}));
  store->setTimeout(50ms);
  EXPECT_THROW(store->get("key"), StoreError);
  store->set("key", "again");
  EXPECT_EQ(store->get("key"), "again");
}

TEST_P(StoreContract, ChecksWithoutWaiting) {
  store->set("a", "1");
  EXPECT_TRUE(store->check({"a"}));
  EXPECT_FALSE(store->check({"a", "b"}));
  EXPECT_TRUE(store->check({}));
}

TEST_P(StoreContract, NamesTheMissingKeysWhenWaitTimesOut) {
  store->set("there", "1");
  const auto start = std::chrono::steady_clock::now();
  const std::string text = failureOf([&] { store->wait({"there", "absent", "gone"}, 250ms); });
  const auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_THAT(text, AllOf(HasSubstr("timeout after 250 ms"), HasSubstr("absent\""),
                          HasSubstr("gone\""), HasSubstr("wait"), Not(HasSubstr("there\""))));
  EXPECT_GE(waited, 250ms);
  EXPECT_LT(waited, 5s);
}

TEST_P(StoreContract, NamesTheKeyWhenGetTimesOut) {
  store->setTimeout(20ms);
  EXPECT_EQ(store->timeout(), 20ms);
  EXPECT_THAT(failureOf([&] { store->get("absent"); }),
              AllOf(HasSubstr("timeout"), HasSubstr("get"), HasSubstr("absent\"")));
}

TEST_P(StoreContract, ReturnsAtOnceFromAWaitForKeysThatAreThere) {
  store->set("a", "1");
  store->wait({"a"}, 0ms);
  store->wait({}, 0ms);
  store->wait({"a", "a"});
}

TEST_P(StoreContract, WakesThoseWhoWaitWhenTheKeyComes) {
  auto other = backend.open();
  auto got = std::async(std::launch::async, [&] { return other->get("late"); });
  auto waited = std::async(std::launch::async, [&] { other->wait({"late", "later"}); });
  auto added = std::async(std::launch::async, [&] { return other->get("number"); });
  auto compared = std::async(std::launch::async, [&] { return other->get("compared"); });
  store->set("late", "value");
  store->add("number", 5);
  store->compareSet("compared", "", "made");
  EXPECT_EQ(got.get(), "value");
  EXPECT_EQ(added.get(), "5");
  EXPECT_EQ(compared.get(), "made");
  store->set("later", "value");
  waited.get();
}

TEST_P(StoreContract, ServesOthersWhileOneThreadWaits) {
  auto blocked = std::async(std::launch::async, [&] { return store->get("release"); });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(store->add("count", 1), i + 1);
  }
  store->set("release", "now");
  EXPECT_EQ(blocked.get(), "now");
}

TEST_P(StoreContract, LosesNoAddOfFourThreads) {
  support::runRanks(4, [&](int) {
    auto own = backend.open();
    for (int i = 0; i < 100; ++i) {
      own->add("counter", 1);
    }
  });
  EXPECT_EQ(store->get("counter"), "400");
}

TEST_P(StoreContract, AppendsToWhatStands) {
  EXPECT_TRUE(store->hasExtendedApi());
  store->append("log", "one ");
  EXPECT_EQ(store->get("log"), "one ");
  store->append("log", std::string("\0two", 4));
  store->append("log", "");
  EXPECT_EQ(store->get("log"), std::string("one \0two", 8));
  EXPECT_EQ(backend.open()->get("log"), std::string("one \0two", 8));
  store->set("number", "4");
  store->append("number", "2");
  EXPECT_EQ(store->add("number", 1), 43);
}

TEST_P(StoreContract, LosesNoAppendOfFourThreads) {
  support::runRanks(4, [&](int rank) {
    auto own = backend.open();
    for (int i = 0; i < 50; ++i) {
      own->append("log", std::string(3, static_cast<char>('a' + rank)));
    }
  });
  const std::string log = store->get("log");
  ASSERT_EQ(log.size(), 600U);
  for (std::size_t i = 0; i < log.size(); i += 3) {
    EXPECT_EQ(log.substr(i, 3), std::string(3, log[i])) << "torn at " << i;
  }
}

TEST_P(StoreContract, SetsAndGetsManyKeysAtOnce) {
  store->multiSet({"a", "b", "a"}, {"1", std::string("\0", 1), "3"});
  EXPECT_THAT(backend.open()->multiGet({"b", "a", "b"}),
              testing::ElementsAre(std::string("\0", 1), "3", std::string("\0", 1)));
  store->multiSet({}, {});
  EXPECT_THAT(store->multiGet({}), testing::IsEmpty());
}

TEST_P(StoreContract, RefusesKeysWithoutTheirValues) {
  EXPECT_THAT(failureOf([&] {
                store->multiSet({"a", "b"}, {"1"});
              }),
              AllOf(HasSubstr("multiSet"), HasSubstr("2 keys and 1 values")));
  EXPECT_FALSE(store->check({"a"}));
}

TEST_P(StoreContract, NamesTheMissingKeysWhenMultiGetTimesOut) {
  store->set("there", "1");
  store->setTimeout(20ms);
  EXPECT_THAT(failureOf([&] {
                store->multiGet({"there", "absent"});
              }),
              AllOf(HasSubstr("multiGet"), HasSubstr("timeout after 20 ms"), HasSubstr("absent\""),
                    Not(HasSubstr("there\""))));
}

TEST_P(StoreContract, MultiGetWaitsForAllAndSeesAMultiSetWhole) {
  store->set("b", "old");
  auto other = backend.open();
  auto got = std::async(std::launch::async, [&] { return other->multiGet({"a", "b"}); });
  store->multiSet({"a", "b"}, {"new", "new"});
  EXPECT_THAT(got.get(), testing::ElementsAre("new", "new"));
}

TEST_P(StoreContract, HoldsUpNoShortWaitWhileOneThreadWaits) {
  store->set("there", "1");
  auto blocked = std::async(std::launch::async, [&] { return store->get("release"); });
  for (int i = 0; i < 20; ++i) {
    store->wait({"there"}, 0ms);
    EXPECT_THAT(failureOf([&] { store->wait({"absent"}, 0ms); }),
                HasSubstr("timeout after 0 ms; missing key"));
  }
  store->set("release", "now");
  EXPECT_EQ(blocked.get(), "now");
}

INSTANTIATE_TEST_SUITE_P(Backends, StoreContract,
                         testing::Values("Hash", "File", "TCP", "PrefixHash", "PrefixFile",
                                         "PrefixTCP"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lockstep::store
