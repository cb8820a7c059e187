#include "engine/store/detail/KeyService.h"

#include <gmock/gmock.h>

#include "engine/store/detail/Deadline.h"

namespace lockstep::store::detail {
namespace {

using Outcome = KeyService::Outcome;

/// Builds the content of a request.
class Asking {
 public:
  explicit Asking(Request request) : content_(1, static_cast<char>(request)) {}
  Asking& text(std::string_view value) {
    base::ByteWriter(content_).text(value);
    return *this;
  }
  Asking& texts(const std::vector<std::string>& values) {
    base::ByteWriter writer(content_);
    writer(values);
    return *this;
  }
  Asking& number(std::int64_t value) {
    base::ByteWriter(content_).put<std::int64_t>(value);
    return *this;
  }
  operator std::string_view() const { return content_; }  // NOLINT(google-explicit-constructor)

 private:
  std::string content_;
};

class KeyServiceTest : public testing::Test {
 protected:
  /// Returns "client status" of each message so far.
  std::vector<std::string> sent() {
    std::vector<std::string> result;
    for (const auto& [to, frame] : service.takeMessages()) {
      result.push_back(std::to_string(to) + " " + std::to_string(int{frame.at(4)}));
    }
    return result;
  }
  Outcome set(KeyService::Id from, const std::string& key, const std::string& value) {
    return service.execute(from, Asking(Request::kSet).text(key).text(value));
  }
  KeyService service;
};

TEST_F(KeyServiceTest, AnswersAWaitAfterTheRequestThatEndsIt) {
  EXPECT_EQ(service.execute(1, Asking(Request::kGet).text("key").number(1000)), Outcome::kWaits);
  EXPECT_EQ(set(2, "key", "value"), Outcome::kAnswered);
  EXPECT_THAT(sent(), testing::ElementsAre("2 1", "1 1"));
}

TEST_F(KeyServiceTest, WritesNothingOfAMalformedRequest) {
  EXPECT_EQ(service.execute(1, Asking(Request::kMultiSet).texts({"a", "b"}).text("1")),
            Outcome::kMalformed);
  EXPECT_EQ(service.execute(1, Asking(Request::kSet).text("a").text("1").text("more")),
            Outcome::kMalformed);
  EXPECT_EQ(service.execute(1, Asking(Request::kWatch).text("a").text("more")),
            Outcome::kMalformed);
  EXPECT_EQ(service.execute(1, ""), Outcome::kMalformed);
  EXPECT_THAT(sent(), testing::IsEmpty());
  service.execute(1, Asking(Request::kCheck).texts({"a"}));
  EXPECT_EQ(service.takeMessages().at(0).frame.at(5), 0);
}

TEST_F(KeyServiceTest, CountsTheLastValueOfAKeyThatIsGivenTwice) {
  // The one that stands is freed once, not once for each time that its key is given.
  set(1, "key", std::string(100, 'x'));
  EXPECT_EQ(
      service.execute(2, Asking(Request::kMultiSet).texts({"key", "key"}).text("1").text("2")),
      Outcome::kAnswered);
  EXPECT_THAT(sent(), testing::ElementsAre("1 1", "2 1"));
  // Of the two large ones only the second is stored.
  for (const char* key : {"a", "b", "c"}) {
    set(1, key, std::string(kLongestValue, 'x'));
  }
  sent();
  const std::string half(kLongestValue / 2, 'x');
  service.execute(2, Asking(Request::kMultiSet).texts({"new", "new"}).text(half).text(half));
  EXPECT_THAT(sent(), testing::ElementsAre("2 1"));
  // Each of the two counts where both are stored.
  service.execute(2, Asking(Request::kMultiSet).texts({"one", "two"}).text(half).text(half));
  EXPECT_THAT(sent(), testing::ElementsAre("2 4"));
}

TEST_F(KeyServiceTest, TellsWatchersBeforeThoseWhoWait) {
  EXPECT_EQ(service.execute(1, Asking(Request::kWatch).text("key")), Outcome::kWatches);
  service.execute(2, Asking(Request::kWait).texts({"key"}).number(1000));
  sent();
  set(3, "key", "value");
  EXPECT_THAT(sent(), testing::ElementsAre("3 1", "1 5", "2 1"));
}

TEST_F(KeyServiceTest, ForgetsAWatcherThatHasGone) {
  service.execute(1, Asking(Request::kWatch).text("key"));
  service.forget(1);
  service.forget(1);
  sent();
  set(2, "key", "value");
  EXPECT_THAT(sent(), testing::ElementsAre("2 1"));
}

TEST_F(KeyServiceTest, RefusesAReplyThatFitsNoFrame) {
  const std::string large(kLongestValue, 'x');
  set(1, "a", large);
  set(1, "b", large);
  sent();
  service.execute(1, Asking(Request::kMultiGet).texts({"a", "b"}).number(1000));
  EXPECT_THAT(sent(), testing::ElementsAre("1 4"));
}

TEST_F(KeyServiceTest, AnswersAWaitThatIsTooLateWithTheMissingKeys) {
  service.execute(1, Asking(Request::kMultiGet).texts({"a", "b"}).number(1000));
  set(2, "a", "1");
  sent();
  service.expire(Deadline::Clock::now());
  EXPECT_THAT(sent(), testing::IsEmpty());
  service.expire(Deadline::Clock::now() + std::chrono::seconds(2));
  const auto messages = service.takeMessages();
  ASSERT_EQ(messages.size(), 1U);
  base::ByteReader reader(std::string_view(messages[0].frame).substr(4));
  EXPECT_EQ(reader.take<std::uint8_t>(), static_cast<std::uint8_t>(Reply::kTimeout));
  EXPECT_EQ(takeKeys(reader), std::vector<std::string>{"b"});
}

}  // namespace
}  // namespace lockstep::store::detail
