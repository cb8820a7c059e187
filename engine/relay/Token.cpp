#include "engine/relay/Token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <fstream>

#include "engine/base/ReadNumber.h"
#include "engine/base/Try.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/base/posix/WriteAll.h"

namespace lockstep::relay {
namespace {

using base::Error;
using base::ExitCode;
using base::systemError;

constexpr std::size_t kZ85Bytes = 41;  // of a key, its end included
constexpr std::string_view kRecorderLine = "LOCKSTEP_RECORDER=";
constexpr std::string_view kTokenLine = "LOCKSTEP_RUN_TOKEN=";

Key fromZ85(const char* text) {
  Key key;
  zmq_z85_decode(key.data(), text);
  return key;
}

void appendHex(std::string& text, const Key& key) {
  for (const std::uint8_t byte : key) {
    text += fmt::format("{:02x}", byte);
  }
}

bool readHex(std::string_view text, Key& key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto byte = base::readNumber<std::uint8_t>(text.substr(2 * i, 2), 16);
    if (!byte) {
      return false;
    }
    key[i] = *byte;
  }
  return true;
}

}  // namespace

base::Status encryptionAvailable() {
  if (zmq_has("curve") == 0) {
    return Error{ExitCode::kEnvironment,
                 "this libzmq was built without CURVE, and the recorder is never open; install one "
                 "with it (libsodium)",
                 ""};
  }
  return {};
}

RunKeys makeRunKeys() {
  RunKeys keys;
  char open[kZ85Bytes];
  char secret[kZ85Bytes];
  LOCKSTEP_CHECK(zmq_curve_keypair(open, secret) == 0, "no CURVE keys: {}", zmq_strerror(errno));
  keys.token.serverPublic = fromZ85(open);
  keys.serverSecret = fromZ85(secret);
  LOCKSTEP_CHECK(zmq_curve_keypair(open, secret) == 0, "no CURVE keys: {}", zmq_strerror(errno));
  keys.clientPublic = fromZ85(open);
  keys.token.clientSecret = fromZ85(secret);
  return keys;
}

Key publicKey(const Key& secret) {
  char text[kZ85Bytes];
  char open[kZ85Bytes];
  zmq_z85_encode(text, secret.data(), secret.size());
  LOCKSTEP_CHECK(zmq_curve_public(open, text) == 0, "no public key: {}", zmq_strerror(errno));
  return fromZ85(open);
}

std::string toText(const RunToken& token) {
  std::string text;
  appendHex(text, token.serverPublic);
  appendHex(text, token.clientSecret);
  return text;
}

base::Result<RunToken> tokenFromText(std::string_view text, const std::string& where) {
  RunToken token;
  const std::size_t half = 2 * token.serverPublic.size();
  if (text.size() != 2 * half || !readHex(text.substr(0, half), token.serverPublic) ||
      !readHex(text.substr(half), token.clientSecret)) {
    return Error{ExitCode::kBadInput,
                 fmt::format("is no run token: {} hex digits were expected; each run makes its "
                             "own",
                             2 * half),
                 where};
  }
  return token;
}

base::Status writeTicket(const std::filesystem::path& path, const Ticket& ticket) {
  const std::string text =
      fmt::format("{}{}\n{}{}\n", kRecorderLine, ticket.recorder, kTokenLine, toText(ticket.token));
  // Made with its rights, so that others cannot read it, not even for a moment; and under another
  // name, so that a relay that waits for the file finds it whole.
  const std::string part = fmt::format("{}.{}", path.string(), getpid());
  const posix::Descriptor file(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // A link, unlike a renamed file, replaces nothing that is there.
  const bool written =
      file.open() && posix::writeAll(file, text) && link(part.c_str(), path.c_str()) == 0;
  const base::Status status =
      written ? base::Status()
              : systemError(ExitCode::kEnvironment, "cannot write the run token", path.string());
  if (file.open()) {
    unlink(part.c_str());
  }
  return status;
}

base::Result<Ticket> readTicket(const std::filesystem::path& path) {
  struct stat status {};
  std::ifstream file(path);
  if (!file || stat(path.c_str(), &status) != 0) {
    return systemError(ExitCode::kBadInput,
                       "cannot read the run token; copy the file that the head of the run names",
                       path.string());
  }
  // A pipe, as from a secret store, has no rights that mean anything here.
  if (S_ISREG(status.st_mode) && (status.st_mode & 077) != 0) {
    return Error{ExitCode::kBadInput,
                 "others can read this run token; take their rights away (chmod 600)",
                 path.string()};
  }
  Ticket ticket;
  std::string token;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kRecorderLine)) {
      ticket.recorder = line.substr(kRecorderLine.size());
    } else if (line.starts_with(kTokenLine)) {
      token = line.substr(kTokenLine.size());
    }
  }
  if (ticket.recorder.empty() || token.empty()) {
    return Error{ExitCode::kBadInput,
                 fmt::format("is no file of a run token: lines {}... and {}... were expected",
                             kRecorderLine, kTokenLine),
                 path.string()};
  }
  ticket.token = LOCKSTEP_TRY(tokenFromText(token, path.string()));
  ticket.recorderFrom = path.string();
  return ticket;
}

}  // namespace lockstep::relay
