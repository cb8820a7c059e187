#include "engine/store/PrefixStore.h"

#include <gmock/gmock.h>

#include "engine/store/HashStore.h"

namespace lockstep::store {
namespace {

TEST(PrefixStore, KeepsGroupsApart) {
  auto base = std::make_shared<HashStore>();
  PrefixStore a("a", base);
  PrefixStore b("b", base);
  a.set("key", "of a");
  b.set("key", "of b");
  EXPECT_EQ(a.get("key"), "of a");
  EXPECT_EQ(b.get("key"), "of b");
  EXPECT_EQ(base->get("a/key"), "of a");
  EXPECT_FALSE(base->check({"key"}));
  EXPECT_EQ(a.getNumKeys(), 2);
}

TEST(PrefixStore, Nests) {
  auto base = std::make_shared<HashStore>();
  auto outer = std::make_shared<PrefixStore>("outer", base);
  PrefixStore inner("inner", outer);
  inner.set("key", "value");
  EXPECT_EQ(base->get("outer/inner/key"), "value");
  EXPECT_EQ(inner.underlying(), outer);
  EXPECT_EQ(outer->underlying(), base);
}

TEST(PrefixStore, HandsTimeLimitsThrough) {
  auto base = std::make_shared<HashStore>();
  PrefixStore store("group", base);
  EXPECT_EQ(store.timeout(), Store::kDefaultTimeout);
  store.setTimeout(std::chrono::milliseconds(7));
  EXPECT_EQ(base->timeout(), std::chrono::milliseconds(7));
}

TEST(PrefixStore, NamesTheWholeKeyOfTheStoreBeneath) {
  PrefixStore store("group", std::make_shared<HashStore>(std::chrono::milliseconds(1)));
  try {
    store.get("key");
    FAIL() << "no StoreError";
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("\"group/key\""));
  }
}

/// A store with the plain operations alone, as another library might bring one.
class PlainStore final : public Store {
 public:
  StoreResult call(StoreCall asked) override {
    const bool extended = asked.verb == Verb::kAppend || asked.verb == Verb::kMultiGet ||
                          asked.verb == Verb::kMultiSet;
    if (extended) {
      unsupported(asked);
    }
    return store_.call(std::move(asked));
  }
  [[nodiscard]] Milliseconds timeout() const override { return store_.timeout(); }
  void setTimeout(Milliseconds timeout) override { store_.setTimeout(timeout); }

 private:
  HashStore store_;
};

TEST(PrefixStore, SaysWhatTheStoreBeneathCannotDo) {
  PrefixStore store("group", std::make_shared<PlainStore>());
  EXPECT_FALSE(store.hasExtendedApi());
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"append", [&] { store.append("key", "value"); }},
      {"multiGet", [&] { store.multiGet({"key"}); }},
      {"multiSet", [&] { store.multiSet({"key"}, {"value"}); }},
      {"watchKey", [&] { store.watchKey("key", [](const auto&, const auto&) {}); }},
  };
  for (const auto& [name, call] : calls) {
    try {
      call();
      ADD_FAILURE() << name << ": no StoreError";
    } catch (const StoreError& error) {
      EXPECT_THAT(error.what(),
                  testing::StartsWith(name + " \"group/key\": this kind of store has no such"));
    }
  }
}

}  // namespace
}  // namespace lockstep::store
