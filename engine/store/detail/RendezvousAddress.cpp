#include "engine/store/detail/RendezvousAddress.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <utility>

#include "engine/base/Try.h"

namespace lockstep::store::detail {
namespace {

using base::Status;
using Scheme = RendezvousAddress::Scheme;

base::Error mistake(const std::string& what) {
  return {base::ExitCode::kBadInput, what, ""};
}

/// Takes off and returns what stands before `mark`, or all of it.
std::string_view takeUntil(std::string_view& text, char mark) {
  const auto end = text.find(mark);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

Status readNumber(std::string_view name, std::string_view text, int lowest, int highest,
                  std::optional<int>& target) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (text.empty() || failure == std::errc::invalid_argument || stop != end) {
    return mistake(fmt::format("{} is \"{}\", a whole number is needed", name, text));
  }
  if (failure != std::errc() || number < lowest || number > highest) {
    return mistake(fmt::format("{} is {}; allowed: {} to {}", name, text, lowest, highest));
  }
  target = number;
  return {};
}

Status readQuery(std::string_view query, RendezvousAddress& address) {
  constexpr int kMost = std::numeric_limits<int>::max();
  while (!query.empty()) {
    std::string_view value = takeUntil(query, '&');
    const std::string_view name = takeUntil(value, '=');
    const bool twice = (name == "rank" && address.rank) ||
                       (name == "world_size" && address.worldSize) ||
                       (name == "job" && address.job);
    if (twice) {
      return mistake(fmt::format("{} is given twice", name));
    }
    Status read;
    if (name == "rank") {
      read = readNumber(name, value, 0, kMost, address.rank);
    } else if (name == "world_size") {
      read = readNumber(name, value, 1, kMost, address.worldSize);
    } else if (name == "job") {
      address.job = std::string(value);
    } else {
      return mistake(fmt::format("unknown parameter \"{}\"; known: rank, world_size, job", name));
    }
    if (!read.ok()) {
      return read;
    }
  }
  return {};
}

/// Reads "host:port" or "[address]:port".
Status readHostAndPort(std::string_view text, RendezvousAddress& address) {
  const bool bracketed = text.starts_with('[');
  if (bracketed) {
    text.remove_prefix(1);
  }
  const std::string_view host = takeUntil(text, bracketed ? ']' : ':');
  if (bracketed) {
    takeUntil(text, ':');
  }
  if (host.empty()) {
    return mistake("host missing: write tcp://HOST:PORT");
  }
  if (text.empty()) {
    return mistake("port number missing: write tcp://HOST:PORT");
  }
  std::optional<int> port;
  LOCKSTEP_TRY(readNumber("port", text, 1, 65535, port));
  address.host = host;
  address.port = static_cast<std::uint16_t>(*port);
  return {};
}

Status readPlace(std::string_view place, RendezvousAddress& address) {
  switch (address.scheme) {
    case Scheme::kEnvironment:
      return place.empty() ? Status()
                           : mistake(fmt::format("\"{}\" after env:// means nothing; the place "
                                                 "comes from MASTER_ADDR and MASTER_PORT",
                                                 place));
    case Scheme::kTcp:
      if (place.ends_with('/')) {
        place.remove_suffix(1);
      }
      return readHostAndPort(place, address);
    case Scheme::kFile:
      break;
  }
  if (place.empty() || place == "/") {
    return mistake("path missing: write file:///PATH");
  }
  if (place.front() != '/') {
    return mistake(
        fmt::format("path missing after the host \"{}\": a file is written "
                    "file:///PATH, with three slashes",
                    takeUntil(place, '/')));
  }
  address.path = place;
  return {};
}

}  // namespace

base::Result<RendezvousAddress> parseRendezvousAddress(const std::string& text) {
  const auto colon = text.find("://");
  const std::string scheme = colon == std::string::npos ? "" : text.substr(0, colon);
  RendezvousAddress address;
  if (scheme == "env") {
    address.scheme = Scheme::kEnvironment;
  } else if (scheme == "tcp") {
    address.scheme = Scheme::kTcp;
  } else if (scheme == "file") {
    address.scheme = Scheme::kFile;
  } else {
    return mistake(
        fmt::format("no rendezvous handler for \"{}://\"; known: env://, "
                    "tcp://HOST:PORT, file:///PATH",
                    scheme));
  }
  std::string_view rest = std::string_view(text).substr(colon + 3);
  const std::string_view place = takeUntil(rest, '?');
  LOCKSTEP_TRY(readPlace(place, address));
  LOCKSTEP_TRY(readQuery(rest, address));
  return address;
}

}  // namespace lockstep::store::detail
