#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/Result.h"

namespace lockstep::relay {

using Key = std::array<std::uint8_t, 32>;

/// What a relay must have to report to the recorder of one run: the recorder's public key, so
/// that it talks to nobody else, and the secret key of the one client that the recorder accepts.
/// Both are fresh for each run (CURVE, RFC 26 of ZeroMQ: rfc.zeromq.org/spec/26).
struct RunToken {
  Key serverPublic{};
  Key clientSecret{};

  bool operator==(const RunToken&) const = default;
};

/// Both sides of a run's keys; they stay in the recorder's process.
struct RunKeys {
  Key serverSecret{};
  Key clientPublic{};
  RunToken token;
};

/// Error (kEnvironment): this ZeroMQ cannot encrypt.
base::Status encryptionAvailable();

/// Draws fresh keys, once encryptionAvailable().
RunKeys makeRunKeys();

/// Returns the public key of a secret one.
Key publicKey(const Key& secret);

/// The token as 128 hex digits: no character of it means anything to a shell.
std::string toText(const RunToken& token);
base::Result<RunToken> tokenFromText(std::string_view text, const std::string& where);

/// Where a recorder listens, and the token to be let in.
struct Ticket {
  std::string recorder;  ///< "tcp://10.0.0.1:41000"
  RunToken token;
  std::string recorderFrom{};  ///< who says so: a file, "--recorder"; for error texts
};

/// Writes a ticket as lines of a shell, LOCKSTEP_RECORDER=... and LOCKSTEP_RUN_TOKEN=..., into a
/// file that only this user can read (mode 0600). Error: it exists, or cannot be written.
base::Status writeTicket(const std::filesystem::path& path, const Ticket& ticket);

/// Error: not there, readable by others (it must be 0600 or stricter), or no ticket.
base::Result<Ticket> readTicket(const std::filesystem::path& path);

}  // namespace lockstep::relay
