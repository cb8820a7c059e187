#include "engine/store/detail/RollCall.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <random>
#include <utility>

namespace lockstep::store::detail {
namespace {

std::string ownHost() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

}  // namespace

Signature Signature::own() {
  std::random_device random;
  return {ownHost(), getpid(), fmt::format("{:08x}{:08x}", random(), random())};
}

std::string Signature::who() const {
  return fmt::format("host {} pid {}", host, pid);
}

bool Signature::hasEnded() const {
  return host == ownHost() && pid > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

std::string Signature::toText() const {
  return fmt::format("{}\n{}\n{}", host, pid, nonce);
}

Signature Signature::fromText(const std::string& text) {
  const auto first = text.find('\n');
  const auto second = first == std::string::npos ? first : text.find('\n', first + 1);
  if (second == std::string::npos) {
    return {text, 0, ""};
  }
  Signature result{text.substr(0, first), 0, text.substr(second + 1)};
  std::from_chars(text.data() + first + 1, text.data() + second, result.pid);
  return result;
}

RollCall::RollCall(Store& store, std::string prefix, int worldSize)
    : store_(store), prefix_(std::move(prefix)), worldSize_(worldSize) {}

std::string RollCall::rankKey(int rank) const {
  return fmt::format("{}rank/{}", prefix_, rank);
}

RollCall::Entry RollCall::sign(int rank, const Signature& signature) {
  const std::string own = signature.toText();
  // Signing is one step in the store, so that of two processes with one rank exactly one holds it.
  const std::string holder = store_.compareSet(rankKey(rank), "", own);
  if (holder != own) {
    return {Signature::fromText(holder), false};
  }
  // The last one to count knows that all have signed, and nobody has to ask for it again and again.
  return {std::nullopt, store_.add(prefix_ + "arrived", 1) == worldSize_};
}

std::vector<int> RollCall::absent() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < worldSize_; ++rank) {
    if (!store_.check({rankKey(rank)})) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

}  // namespace lockstep::store::detail
