#include "engine/store/Store.h"

#include <fmt/format.h>

#include <array>

#include "engine/store/detail/Errors.h"

namespace lockstep::store {
namespace {

struct Meaning {
  const char* name;
  bool waits;
  bool writes;
};

// By Verb.
constexpr std::array kVerbs{
    Meaning{"set", false, true},         Meaning{"get", true, false},
    Meaning{"add", false, true},         Meaning{"compareSet", false, true},
    Meaning{"deleteKey", false, true},   Meaning{"check", false, false},
    Meaning{"getNumKeys", false, false}, Meaning{"wait", true, false},
    Meaning{"append", false, true},      Meaning{"multiGet", true, false},
    Meaning{"multiSet", false, true},
};

const Meaning& of(StoreCall::Verb verb) {
  return kVerbs.at(static_cast<std::size_t>(verb));
}

[[noreturn]] void hasNo(const std::string& operation, const std::vector<std::string>& keys,
                        const char* whoHasIt) {
  throw StoreError(fmt::format("{} {}: this kind of store has no such operation; {} have it",
                               operation, detail::quoted(keys), whoHasIt));
}

}  // namespace

const char* StoreCall::name() const {
  return of(verb).name;
}

bool StoreCall::waits() const {
  return of(verb).waits;
}

bool StoreCall::writes() const {
  return of(verb).writes;
}

void Store::unsupported(const StoreCall& asked) {
  hasNo(asked.name(), asked.keys, "TCPStore, FileStore and HashStore");
}

void Store::watchKey(const std::string& key, WatchCallback /*callback*/) {
  hasNo("watchKey", {key}, "TCPStore and HashStore");
}

}  // namespace lockstep::store
