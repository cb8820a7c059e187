#include "engine/relay/Token.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/FileSizeLimit.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::relay {
namespace {

using testing::HasSubstr;

TEST(Token, IsFreshForEachRunAndItsKeysBelongTogether) {
  const RunKeys keys = makeRunKeys();
  EXPECT_NE(makeRunKeys().token, keys.token);
  EXPECT_EQ(publicKey(keys.token.clientSecret), keys.clientPublic);
  EXPECT_EQ(publicKey(keys.serverSecret), keys.token.serverPublic);
}

TEST(Token, SurvivesItsTextAndNothingElseIsOne) {
  const RunToken token = makeRunKeys().token;
  const std::string text = toText(token);
  EXPECT_EQ(text.size(), 128U);
  ASSERT_TRUE(tokenFromText(text, "").ok());
  EXPECT_EQ(tokenFromText(text, "").value(), token);
  for (const std::string& wrong :
       {std::string(), text.substr(1), text + "0", std::string(text).replace(0, 1, "g"),
        std::string(text).replace(0, 2, "-1")}) {
    const auto parsed = tokenFromText(wrong, "environment LOCKSTEP_RUN_TOKEN");
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_THAT(parsed.error().message(),
                HasSubstr("environment LOCKSTEP_RUN_TOKEN: is no run token: 128 hex digits"));
  }
}

TEST(Token, AFileOfItIsForItsUserAlone) {
  const support::TemporaryFolder folder;
  const auto path = folder.path() / "run.token";
  const Ticket ticket{"tcp://10.0.0.1:41000", makeRunKeys().token};
  ASSERT_TRUE(writeTicket(path, ticket).ok());
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const auto read = readTicket(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().recorder, ticket.recorder);
  EXPECT_EQ(read.value().token, ticket.token);
  // One that is there already is somebody's.
  EXPECT_FALSE(writeTicket(path, ticket).ok());

  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_FALSE(readTicket(path).ok());
  EXPECT_THAT(readTicket(path).error().message(), HasSubstr("others can read this run token"));
}

TEST(Token, AFileThatHasNoRoomIsTakenAwayAndTheReasonTold) {
  const support::TemporaryFolder folder;
  const auto path = folder.path() / "run.token";
  // The first call writes this much, without an error.
  const support::FileSizeLimit limit(10);
  const auto written = writeTicket(path, {"tcp://10.0.0.1:41000", makeRunKeys().token});
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message(), HasSubstr("cannot write the run token: File too large"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Token, AFileThatIsNoneIsSaidToBeNone) {
  const support::TemporaryFolder folder;
  const auto path = folder.path() / "notes.txt";
  EXPECT_THAT(readTicket(path).error().message(), HasSubstr("cannot read the run token"));
  std::ofstream(path) << "LOCKSTEP_RECORDER=tcp://10.0.0.1:41000\n";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_THAT(readTicket(path).error().message(), HasSubstr("is no file of a run token"));
}

}  // namespace
}  // namespace lockstep::relay
