#include "engine/store/Store.h"

#include <fmt/format.h>

#include "engine/store/detail/Errors.h"

namespace lockstep::store {
namespace {

[[noreturn]] void unsupported(const std::string& operation, const std::vector<std::string>& keys,
                              const char* whoHasIt) {
  throw StoreError(fmt::format("{} {}: this kind of store has no such operation; {} have it",
                               operation, detail::quoted(keys), whoHasIt));
}

constexpr const char* kExtended = "TCPStore, FileStore and HashStore";

}  // namespace

void Store::append(const std::string& key, const std::string& /*value*/) {
  unsupported("append", {key}, kExtended);
}

std::vector<std::string> Store::multiGet(const std::vector<std::string>& keys) {
  unsupported("multiGet", keys, kExtended);
}

void Store::multiSet(const std::vector<std::string>& keys,
                     const std::vector<std::string>& /*values*/) {
  unsupported("multiSet", keys, kExtended);
}

void Store::watchKey(const std::string& key, WatchCallback /*callback*/) {
  unsupported("watchKey", {key}, "TCPStore and HashStore");
}

}  // namespace lockstep::store
