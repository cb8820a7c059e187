#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/store/TCPStore.h"

namespace lockstep::store {

/// A server on a port that it picks.
inline TCPStoreOptions serverOptions() {
  TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.timeout = std::chrono::seconds(30);
  return options;
}

inline TCPStoreOptions clientOptions(std::uint16_t port,
                                     Store::Milliseconds timeout = std::chrono::seconds(30)) {
  TCPStoreOptions options;
  options.port = port;
  options.timeout = timeout;
  return options;
}

inline std::uint16_t portFrom(const std::string& text) {
  return static_cast<std::uint16_t>(std::stoi(text));
}

/// Returns the text of the StoreError that `call` must end with.
inline std::string failureOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const StoreError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no StoreError";
  return "";
}

}  // namespace lockstep::store
