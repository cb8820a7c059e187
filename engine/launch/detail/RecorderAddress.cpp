#include "engine/launch/detail/RecorderAddress.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>

#include "engine/base/ReadNumber.h"
#include "engine/relay/RelayClient.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr const char* kLoopback = "127.0.0.1";

/// Whether mpirun is to place ranks by a list of hosts.
bool namesHosts(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "-H" || argument.find("host") != std::string::npos ||
           argument.find("machinefile") != std::string::npos ||
           argument.find("rankfile") != std::string::npos;
  });
}

/// Slurm places even one host's ranks where it likes, and "external" is started anywhere.
bool ranksAreHere(const experiment::LaunchConfig& launch) {
  // Only then the loopback will do, which no other host can reach.
  return launch.nnodes == 1 && launch.launcher == "mpirun" && !namesHosts(launch.arguments);
}

/// Returns this host's address on the way to elsewhere, or on its first network; "" without any.
std::string hostAddress() {
  // An address that is nobody's (RFC 5737): it goes where the default route goes.
  if (std::string address = relay::addressToward({"192.0.2.1", 9}); !address.empty()) {
    return address;
  }
  std::string address;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) {
    return "";
  }
  for (const ifaddrs* i = interfaces; i != nullptr && address.empty(); i = i->ifa_next) {
    const bool usable = i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET &&
                        (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_LOOPBACK) == 0;
    char text[NI_MAXHOST];
    if (usable && getnameinfo(i->ifa_addr, sizeof(sockaddr_in), text, sizeof(text), nullptr, 0,
                              NI_NUMERICHOST) == 0) {
      address = text;
    }
  }
  freeifaddrs(interfaces);
  return address;
}

}  // namespace

base::Result<RecorderAddress> recorderAddress(const experiment::LaunchConfig& launch,
                                              const std::optional<std::string>& ownAddress) {
  const std::string& listen = launch.listen;
  const std::string where = fmt::format("launch.listen = \"{}\"", listen);
  RecorderAddress result;
  result.bind = listen;
  if (const std::size_t colon = listen.rfind(':'); colon != std::string::npos) {
    const auto port = base::readNumber<std::uint16_t>(std::string_view(listen).substr(colon + 1));
    if (!port) {
      return Error{ExitCode::kBadInput, "behind the colon a port from 0 to 65535 was expected",
                   where};
    }
    result.port = *port;
    result.bind = listen.substr(0, colon);
  }
  in_addr address{};
  if (!result.bind.empty() && inet_pton(AF_INET, result.bind.c_str(), &address) != 1) {
    return Error{ExitCode::kBadInput,
                 "an IPv4 address of this host was expected, such as 10.0.0.1 or 10.0.0.1:41000",
                 where};
  }
  if (result.bind.empty() && ranksAreHere(launch)) {
    result.bind = kLoopback;
  }
  result.advertised = result.bind;
  // All addresses of this host may be listened at, but the others need one that means it.
  if (result.bind.empty() || result.bind == "0.0.0.0") {
    result.advertised = ownAddress ? *ownAddress : hostAddress();
    if (result.advertised.empty() && launch.nnodes == 1) {
      result.advertised = kLoopback;  // no other host can be meant
    }
    if (result.advertised.empty()) {
      return Error{ExitCode::kEnvironment,
                   "this host has no address but its loopback; connect it to a network", where};
    }
    result.bind = result.bind.empty() ? result.advertised : result.bind;
  }
  return result;
}

}  // namespace lockstep::launch::detail
