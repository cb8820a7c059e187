#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/comm_hook.hpp>

namespace lockstep::plugin {

/// Two steps in which each rank serves one part of the bucket, so that what a rank sends does not
/// grow with their number. `sent`, memory of the run, holds this rank's message for each server;
/// serve(received, answer) has those that came to this one, and writes what they come to;
/// then(answers) has the answers of all, and the run completes.
template <typename Serve, typename Then>
void throughServers(const Run& run, std::span<std::uint8_t> sent, Serve serve, Then then) {
  const auto received = run.scratch<std::uint8_t>(sent.size());
  run.allToAll(bufferOf(sent), {}, bufferOf(received), {}, [=] {
    const auto answer = sent.subspan(0, sent.size() / static_cast<std::size_t>(run.size()));
    serve(received, answer);
    run.allGather(bufferOf(answer), bufferOf(received), [=] {
      then(received);
      run.complete();
    });
    run.noMore();
  });
}

}  // namespace lockstep::plugin
