#include "engine/launch/ControlSocket.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <future>
#include <thread>

#include "engine/launch/detail/UnixSocket.h"
#include "engine/trace/HostFacts.h"
#include "engine/trace/RunFile.h"

namespace lockstep::launch {
namespace {

using testing::HasSubstr;
using Kind = ControlCommand::Kind;

class ControlSocketTest : public testing::Test {
 protected:
  ControlSocketTest() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "lockstep-control-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    auto created = posix::EventLoop::create();
    loop.emplace(std::move(created).value());
  }
  ~ControlSocketTest() override { std::filesystem::remove_all(folder); }

  base::Result<std::unique_ptr<ControlServer>> listen() {
    return ControlServer::listen(*loop, folder / "control", "run",
                                 [](const ControlCommand& command) {
                                   return command.kind == Kind::kStop ? "stopped" : "other";
                                 });
  }

  /// Sends `text` and dispatches until a whole line came back; "" = the server hung up.
  std::string ask(int fd, const std::string& text) {
    EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    std::string answer;
    std::array<char, 1024> buffer;
    while (!answer.ends_with('\n')) {
      loop->waitUntil(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
      const ssize_t count = read(fd, buffer.data(), buffer.size());
      if (count == 0 || (count < 0 && errno != EAGAIN)) {
        return "";
      }
      if (count > 0) {
        answer.append(buffer.data(), static_cast<std::size_t>(count));
      }
    }
    return answer;
  }

  /// A live run whose supervisor listens at `socket`.
  std::filesystem::path liveRun(const std::filesystem::path& socket,
                                const std::string& host = trace::hostName()) {
    writer = trace::RunFileWriter::create(folder / "a.lockstep").value();
    trace::RunInfo info;
    info.state = trace::RunState::kRunning;
    info.supervisorPid = getpid();
    info.supervisorStart = trace::processStart(getpid());
    info.hostName = host;
    info.controlSocket = socket.string();
    writer->setInfo(info);
    EXPECT_TRUE(writer->commit().ok());
    return folder / "a.lockstep";
  }

  /// Sends "stop" from another thread, and answers from this one.
  base::Result<std::string> stop(const std::filesystem::path& run) {
    auto sent = std::async(std::launch::async, [&] { return sendControl(run, {Kind::kStop}); });
    while (sent.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      loop->waitUntil(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
    }
    return sent.get();
  }

  std::filesystem::path folder;
  std::unique_ptr<trace::RunFileWriter> writer;
  std::optional<posix::EventLoop> loop;
};

mode_t modeOf(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

TEST_F(ControlSocketTest, LetsOnlyItsUserIn) {
  const auto server = listen();
  ASSERT_TRUE(server.ok()) << server.error().message();
  EXPECT_EQ(modeOf(folder / "control"), 0700u);
  EXPECT_EQ(modeOf(server.value()->path()), 0600u);
}

TEST_F(ControlSocketTest, RefusesAFolderThatOthersCanEnter) {
  std::filesystem::create_directory(folder / "control");
  ::chmod((folder / "control").c_str(), 0755);
  const auto server = listen();
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(server.error().message(), HasSubstr("mode 0700"));
}

TEST_F(ControlSocketTest, RefusesALinkInPlaceOfItsFolder) {
  std::filesystem::create_directory(folder / "elsewhere");
  ::chmod((folder / "elsewhere").c_str(), 0700);
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "control");
  EXPECT_FALSE(listen().ok());
}

TEST_F(ControlSocketTest, AnswersEachLineAndRefusesWhatIsNoCommand) {
  const auto server = listen();
  ASSERT_TRUE(server.ok());
  const posix::Descriptor socket = detail::connectUnix(server.value()->path());
  ASSERT_TRUE(socket.open());
  const int client = socket.get();
  EXPECT_EQ(ask(client, "{\"command\":\"stop\"}\n"), "stopped\n");
  EXPECT_EQ(ask(client, "{\"command\":\"status\"}\n"), "other\n");
  EXPECT_THAT(ask(client, "nonsense\n"), HasSubstr("\"ok\":false"));
  EXPECT_THAT(ask(client, "{\"command\":\"capture\"}\n"), HasSubstr("capture needs"));
  EXPECT_THAT(ask(client, "{\"command\":\"dance\xff\"}\n"), HasSubstr("not a command"));
  EXPECT_THAT(ask(client, "{\"command\":\"dance\"}\n"), HasSubstr("unknown command"));
}

TEST_F(ControlSocketTest, HangsUpOnALineWithoutAnEnd) {
  const auto server = listen();
  ASSERT_TRUE(server.ok());
  const posix::Descriptor client = detail::connectUnix(server.value()->path());
  EXPECT_EQ(ask(client.get(), std::string(20'000, 'x')), "");
}

TEST_F(ControlSocketTest, RemovesSocketsOfDeadSupervisorsAndItsOwnAtTheEnd) {
  {
    const auto first = listen();
    ASSERT_TRUE(first.ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "control"));
  // A socket that nobody listens on any more, as kill -9 leaves it.
  const auto dead = folder / "control" / "dead.sock";
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = detail::unixAddress(dead);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)), 0);
  close(fd);
  ASSERT_TRUE(std::filesystem::exists(dead));
  const auto second = listen();
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(std::filesystem::exists(dead));
}

TEST_F(ControlSocketTest, ASupervisorsRefusalIsItsSentenceAsItStands) {
  const auto server =
      ControlServer::listen(*loop, folder / "control", "run", [](const ControlCommand&) {
        return std::string(R"({"ok":false,"error":"rank 1 of \"my job\" is not there"})");
      });
  const auto refused = stop(liveRun(server.value()->path()));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "rank 1 of \"my job\" is not there");
}

TEST_F(ControlSocketTest, ACommandWaitsForTheFirstWordsOfARecorder) {
  const auto server =
      ControlServer::listen(*loop, folder / "control", "run",
                            [](const ControlCommand&) { return std::string(R"({"ok":true})"); });
  const auto run = liveRun("");
  std::thread recorder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    trace::RunInfo info = trace::readRunSummary(run).value().info;
    info.controlSocket = server.value()->path().string();
    writer->setInfo(info);
    EXPECT_TRUE(writer->commit().ok());
  });
  const auto answered = stop(run);
  recorder.join();
  EXPECT_TRUE(answered.ok()) << answered.error().message();
}

TEST_F(ControlSocketTest, ACommandSaysForWhomItWaitedInVain) {
  const auto refused =
      sendControl(liveRun(""), {Kind::kTrace, true, {}, 5}, std::chrono::milliseconds(50));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what,
            "the supervisor of this run, process " + std::to_string(getpid()) +
                ", has not said within 0.05 s where it takes commands; send it again");
}

TEST_F(ControlSocketTest, ASupervisorUnderAnotherHostNameIsReachedBySharedFolders) {
  const auto server =
      ControlServer::listen(*loop, folder / "control", "run",
                            [](const ControlCommand&) { return std::string(R"({"ok":true})"); });
  const auto answered = stop(liveRun(server.value()->path(), "a-container"));
  EXPECT_TRUE(answered.ok()) << answered.error().message();
}

TEST_F(ControlSocketTest, OfARunOfAnotherHostItIsNotSaidThatItsRecorderDied) {
  const auto run = liveRun(folder / "elsewhere.sock", "node7");
  const auto refused = stop(run);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what,
            "this run was started on host node7, and whether it goes on there cannot be told on " +
                trace::hostName() + "; send the command there");
  const trace::RunInfo info = trace::readRunSummary(run).value().info;
  EXPECT_EQ(info.state, trace::RunState::kRecorderDied);
  EXPECT_THAT(info.failure,
              HasSubstr("it was recorded on host node7, and whether it still is cannot be told"));
}

TEST_F(ControlSocketTest, ReadsBackItsOwnCommands) {
  for (const ControlCommand& command :
       {ControlCommand{Kind::kStop}, ControlCommand{Kind::kCapture, false},
        ControlCommand{Kind::kCapture, true}, ControlCommand{Kind::kStatus},
        ControlCommand{Kind::kSet, true, {"hook.density", "0.05"}},
        ControlCommand{Kind::kSet, true, {"hook.inner.mode", R"("ring")"}},
        ControlCommand{Kind::kTrace, true, {}, 5}}) {
    const auto read = controlCommandFromJson(toJson(command));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.value().kind, command.kind);
    EXPECT_EQ(read.value().enabled, command.enabled);
    EXPECT_EQ(read.value().change, command.change);
    EXPECT_EQ(read.value().steps, command.steps);
  }
}

TEST_F(ControlSocketTest, RefusesATraceOfNoneOrOfTooManySteps) {
  for (const char* line :
       {R"({"command":"trace"})", R"({"command":"trace","steps":0})",
        R"({"command":"trace","steps":1001})", R"({"command":"trace","steps":"5"})"}) {
    const auto read = controlCommandFromJson(line);
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_THAT(read.error().message(),
                HasSubstr("trace needs \"steps\", a number from 1 to 1000"));
  }
}

TEST_F(ControlSocketTest, RefusesASetWithoutAKeyOrAValueThatASettingCanHave) {
  for (const char* line :
       {R"({"command":"set","value":1})", R"({"command":"set","key":"a"})",
        R"({"command":"set","key":"a","value":[1]})", R"({"command":"set","key":1,"value":1})"}) {
    const auto read = controlCommandFromJson(line);
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_THAT(read.error().message(), HasSubstr("set needs"));
  }
}

}  // namespace
}  // namespace lockstep::launch
