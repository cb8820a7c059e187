#include "engine/launch/detail/Head.h"

#include <system_error>
#include <utility>

#include "engine/base/Environment.h"
#include "engine/base/ShippedFiles.h"
#include "engine/base/Try.h"
#include "engine/launch/ControlSocket.h"

#ifdef LOCKSTEP_WITH_RELAY
#include "engine/launch/RankEnvironment.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/launch/detail/RecorderAddress.h"
#include "engine/launch/detail/RemoteParts.h"
#include "engine/launch/detail/RemoteRanks.h"
#include "engine/relay/RelayServer.h"
#endif

namespace lockstep::launch::detail {

using base::Error;
using base::ExitCode;

#ifdef LOCKSTEP_WITH_RELAY

struct Head::Parts {
  RecorderAddress address;
  relay::RunKeys keys = relay::makeRunKeys();
  std::unique_ptr<relay::RelayServer> server;
  relay::Ticket ticket;              // that the relays need
  std::filesystem::path ticketFile;  // empty until it is written

  // The token opens the run to whoever has it: it is gone with the run, also after an error.
  ~Parts() {
    std::error_code ignored;
    if (!ticketFile.empty()) {
      std::filesystem::remove(ticketFile, ignored);
    }
  }

  base::Status writeTicket(const std::filesystem::path& path) {
    LOCKSTEP_TRY(relay::writeTicket(path, ticket));
    ticketFile = path;
    return {};
  }
};

base::Result<Head> Head::prepare(const experiment::LaunchConfig& launch) {
  if (launch.isLocal()) {
    return Head(nullptr);
  }
  LOCKSTEP_TRY(relay::encryptionAvailable());
  auto parts = std::make_unique<Parts>();
  parts->address = LOCKSTEP_TRY(recorderAddress(launch));
  raiseDescriptors();
  parts->server = LOCKSTEP_TRY(
      relay::RelayServer::listen(parts->address.bind, parts->address.port, parts->keys));
  parts->ticket = {fmt::format("tcp://{}:{}", parts->address.advertised, parts->server->port()),
                   parts->keys.token};
  return Head(std::move(parts));
}

Head::Head(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {
  if (parts_ != nullptr) {
    storeAddress_ = parts_->address.advertised;
    storeBind_ = parts_->address.bind;
  }
}

base::Result<std::unique_ptr<Ranks>> Head::makeRanks(const LaunchOptions& options,
                                                     Resources& resources, posix::EventLoop& loop) {
  HeadOptions head;
  head.launch = options.experiment.launch;
  head.experimentToml = options.experimentToml;
  head.worldSize = options.experiment.processes.worldSize;
  head.runId = resources.runId;
  head.storePort = resources.masterPort;
  head.storeToken = resources.storeToken;
  head.ticket = parts_->ticket;
  // Beside the control socket, in a folder that nobody else can enter.
  head.ticketFile = controlDirectory(options.controlDirectory) / (resources.runId + ".token");
  LOCKSTEP_TRY(parts_->writeTicket(head.ticketFile));
  head.joinProgram = LOCKSTEP_TRY(base::programFile());
  head.announce = options.announce;
  return std::unique_ptr<Ranks>(std::make_unique<RemoteRanks>(
      std::move(head), std::move(parts_->server), loop, resources.segments, *resources.recorder));
}

base::Result<std::unique_ptr<OtherParts>> Head::makeParts(const std::filesystem::path& ticketFile,
                                                          const std::string& runId,
                                                          posix::EventLoop& loop,
                                                          PartWatcher& watcher) {
  if (parts_ == nullptr) {
    return std::unique_ptr<OtherParts>();
  }
  LOCKSTEP_TRY(parts_->writeTicket(ticketFile));
  auto others = std::make_unique<RemoteParts>(std::move(parts_->server), loop, runId, watcher);
  LOCKSTEP_TRY(others->start());
  return std::unique_ptr<OtherParts>(std::move(others));
}

void Head::addTicket(std::vector<std::string>& environment) const {
  if (parts_ != nullptr) {
    base::setVariable(environment, kRecorderVariable, parts_->ticket.recorder);
    base::setVariable(environment, kTokenVariable, relay::toText(parts_->ticket.token));
  }
}

std::string Head::recorder() const {
  return parts_ == nullptr ? "" : parts_->ticket.recorder;
}

#else

struct Head::Parts {};

base::Result<Head> Head::prepare(const experiment::LaunchConfig& launch) {
  if (launch.isLocal()) {
    return Head(nullptr);
  }
  return Error{ExitCode::kEnvironment,
               fmt::format("\"{}\" needs ZeroMQ, and this build was made without it; install "
                           "libzmq3-dev and build again, or choose \"local\"",
                           launch.launcher),
               "launch.launcher"};
}

Head::Head(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

base::Result<std::unique_ptr<Ranks>> Head::makeRanks(const LaunchOptions&, Resources&,
                                                     posix::EventLoop&) {
  return Error{ExitCode::kUnexpected, "this build has no relays", ""};
}

base::Result<std::unique_ptr<OtherParts>> Head::makeParts(const std::filesystem::path&,
                                                          const std::string&, posix::EventLoop&,
                                                          PartWatcher&) {
  return std::unique_ptr<OtherParts>();
}

void Head::addTicket(std::vector<std::string>&) const {}

std::string Head::recorder() const {
  return "";
}

#endif

Head::Head(Head&&) noexcept = default;
Head::~Head() = default;

}  // namespace lockstep::launch::detail
