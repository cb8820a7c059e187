#include "tests/engine/launch/PlayedRelay.h"

#include <signal.h>

#include <chrono>
#include <system_error>
#include <utility>
#include <variant>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "tests/support/ChildProcess.h"

namespace lockstep::launch {

relay::Hello helloOfRank0() {
  relay::Hello hello;
  hello.hostName = "b";
  hello.hostIdentity = "another host";
  hello.ranks = {0};
  return hello;
}

/// Answers by a clock that is so far ahead.
void answer(relay::RelayClient& client, const relay::Ping& ping, std::int64_t aheadNs) {
  relay::Pong pong;
  pong.id = ping.id;
  pong.receivedNs = pong.sentNs = base::monotonicNs() + aheadNs;
  client.send(pong);
}

relay::Batch batchOfOneStep(std::uint64_t number) {
  trace::Event event;
  event.startTicks = base::ticks();
  event.kind = static_cast<std::uint16_t>(trace::EventKind::kStep);
  event.step = static_cast<std::uint32_t>(number);
  relay::RankPart part;
  part.words.finished = 1;
  part.words.sinceTicks = event.startTicks;
  part.lanes = {{0, "step", 0, {event}}};
  return {number, event.startTicks, {part}};
}

void waitUntil(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + support::ChildProcess::kPatience;
  while (!done() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
}

void blockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void PlayedRelay::play(const std::filesystem::path& folder,
                       const std::function<void(relay::RelayClient&)>& onStart,
                       const relay::Hello& hello, const OnPing& onPing, const OnOther& onOther) {
  const auto deadline = std::chrono::steady_clock::now() + 2 * support::ChildProcess::kPatience;
  std::unique_ptr<relay::RelayClient> client;
  bool done = false;
  while (!done && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    if (client == nullptr) {
      client = connect(folder, hello);
      continue;
    }
    client->pump({[&](const relay::ToRelay& message) {
                    if (const auto* ping = std::get_if<relay::Ping>(&message)) {
                      onPing(*client, *ping);
                    } else if (std::holds_alternative<relay::Start>(message)) {
                      onStart(*client);
                    } else {
                      onOther(*client, message);
                      done = done || std::holds_alternative<relay::Farewell>(message);
                    }
                  },
                  [&] { done = true; }});
  }
}

std::unique_ptr<relay::RelayClient> PlayedRelay::connect(const std::filesystem::path& folder,
                                                         const relay::Hello& hello) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const auto ticket = relay::readTicket(entry.path());
    if (entry.path().extension() == ".token" && ticket.ok()) {
      auto client = std::move(relay::RelayClient::connect(ticket.value())).value();
      client->send(hello);
      return client;
    }
  }
  return nullptr;
}

}  // namespace lockstep::launch
