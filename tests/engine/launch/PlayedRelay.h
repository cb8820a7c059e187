#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "engine/relay/RelayClient.h"
#include "engine/relay/Wire.h"

namespace lockstep::launch {

/// Of host "b", for rank 0.
relay::Hello helloOfRank0();

/// Answers by a clock that is so far ahead.
void answer(relay::RelayClient& client, const relay::Ping& ping, std::int64_t aheadNs);

/// A batch of rank 0 that has one step, of the batch's number.
relay::Batch batchOfOneStep(std::uint64_t number);

/// Ten seconds at most.
void waitUntil(const std::function<bool()>& done);

/// Signals of this process are for the thread that is tested.
void blockSignals();

/// Thrown by what a test plays: its relay ends, and says nothing.
struct Left {};

/// A relay that a test plays, on a thread of its own; of rank 0 where it says nothing else. It
/// takes the first token that it finds in the folder, and ends when it is let go.
class PlayedRelay {
 public:
  using OnPing = std::function<void(relay::RelayClient&, const relay::Ping&)>;
  using OnOther = std::function<void(relay::RelayClient&, const relay::ToRelay&)>;

  PlayedRelay(
      const std::filesystem::path& controlDirectory,
      std::function<void(relay::RelayClient&)> onStart, const relay::Hello& hello = helloOfRank0(),
      OnPing onPing = [](auto& client, const auto& ping) { answer(client, ping, 0); },
      OnOther onOther = [](auto&, const auto&) {})
      : thread_([=] {
          blockSignals();
          try {
            play(controlDirectory, onStart, hello, onPing, onOther);
          } catch (const Left&) {
          }
        }) {}
  ~PlayedRelay() { thread_.join(); }

 private:
  static void play(const std::filesystem::path& folder,
                   const std::function<void(relay::RelayClient&)>& onStart,
                   const relay::Hello& hello, const OnPing& onPing, const OnOther& onOther);
  static std::unique_ptr<relay::RelayClient> connect(const std::filesystem::path& folder,
                                                     const relay::Hello& hello);

  std::thread thread_;
};

}  // namespace lockstep::launch
