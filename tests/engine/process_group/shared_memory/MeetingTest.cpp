// How the ranks of a group find each other, and whom they do not let in.

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <sstream>
#include <thread>

#include "engine/process_group/shared_memory/HostKey.h"
#include "engine/process_group/shared_memory/Mesh.h"
#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group::shared_memory {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Mesh::Options meeting(int rank, int size, std::chrono::milliseconds timeout = 20s) {
  Mesh::Options options;
  options.group = "trio";
  options.rank = rank;
  options.size = size;
  options.timeout = timeout;
  options.host = "here";
  return options;
}

TEST(HostKey, IsTheSameEachTimeAndNamesTheNetworkNamespace) {
  EXPECT_FALSE(hostKey().empty());
  EXPECT_EQ(hostKey(), hostKey());
  EXPECT_THAT(hostKey(), HasSubstr("net:["));
}

TEST(Meeting, NamesTheRanksThatDoNotCome) {
  store::HashStore store;
  const auto mesh = Mesh::connect(store, meeting(1, 3, 100ms));
  ASSERT_FALSE(mesh.ok());
  EXPECT_EQ(mesh.error().code, base::ExitCode::kCommFailed);
  EXPECT_EQ(mesh.error().message(),
            "rank 1, group trio: timed out after 100 ms waiting for ranks 0, 2 to join");
}

TEST(Meeting, NoticesTwoProcessesWithOneRank) {
  store::HashStore store;
  ASSERT_TRUE(Mesh::connect(store, meeting(0, 1)).ok());
  const auto second = Mesh::connect(store, meeting(0, 1));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message(),
              HasSubstr("rank 0 has joined group trio already: two processes with RANK=0"));
}

TEST(Meeting, RefusesRanksOnOtherHostsAndNamesThem) {
  store::HashStore store;
  support::runRanks(3, [&](int rank) {
    Mesh::Options options = meeting(rank, 3);
    options.host = rank == 2 ? "there" : "here";
    const auto mesh = Mesh::connect(store, options);
    ASSERT_FALSE(mesh.ok());
    EXPECT_THAT(mesh.error().message(),
                HasSubstr(rank == 2 ? "ranks 0, 1 are not on the host of rank 2"
                                    : "rank 2 is not on the host of rank "));
    EXPECT_THAT(mesh.error().message(), HasSubstr("use gloo"));
  });
}

TEST(Meeting, LetsNobodyInWhoDoesNotKnowTheToken) {
  store::HashStore store;
  std::thread stranger([&] {
    // The address is in the store, and visible to every process of this network namespace.
    store.wait({"shared_memory/trio/card/0"}, 20s);
    std::istringstream card(store.get("shared_memory/trio/card/0"));
    std::string user;
    std::string name;
    card >> user >> name;
    const posix::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    ASSERT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
              0);
    const char hello[24] = "let me in";
    EXPECT_EQ(send(socket.get(), hello, sizeof(hello), MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof(hello)));
    // Only now rank 1 comes, and stands behind the stranger.
    const auto mesh = Mesh::connect(store, meeting(1, 2));
    EXPECT_TRUE(mesh.ok()) << mesh.error().message();
    char answer = 0;
    EXPECT_LE(recv(socket.get(), &answer, 1, 0), 0) << "closed without a word";
    store.wait({"seen"}, 20s);
  });
  const auto mesh = Mesh::connect(store, meeting(0, 2));
  store.set("seen", "yes");
  stranger.join();
  ASSERT_TRUE(mesh.ok()) << mesh.error().message();
}

TEST(Meeting, LetsSeveralGroupsMeetOnOneStore) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(3, [&](int rank) {
    std::vector<std::shared_ptr<ProcessGroup>> groups;
    for (const char* name : {"first", "second"}) {
      GroupOptions options = quickOptions();
      options.groupName = name;
      auto made = makeProcessGroup("shared_memory", store, rank, 3, options);
      ASSERT_TRUE(made.ok()) << made.error().message();
      groups.push_back(std::move(made).value());
    }
    at::Tensor a = filled(300'000, 1);
    at::Tensor b = filled(3, 2);
    const auto first = groups[0]->allreduce({a});
    const auto second = groups[1]->allreduce({b});
    second->wait();
    first->wait();
    EXPECT_TRUE(at::equal(a, filled(300'000, 3)));
    EXPECT_TRUE(at::equal(b, filled(3, 6)));
    groups[0]->barrier()->wait();
  });
}

}  // namespace
}  // namespace lockstep::process_group::shared_memory
