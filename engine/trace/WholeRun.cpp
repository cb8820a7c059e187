#include "engine/trace/WholeRun.h"

#include <future>

#include "engine/base/Try.h"
#include "engine/trace/RanksTogether.h"

namespace lockstep::trace {
namespace {

// Of a run of a thousand ranks, some hundred of each (Note [Ranks together]).
constexpr std::size_t kSpansOfRanks = 250'000;

/// `poll` returns the next batch.
template <typename Poll>
base::Status handOver(const Poll& poll, const std::function<void(RunUpdate&)>& take,
                      std::size_t spansAtOnce) {
  auto polled = LOCKSTEP_TRY(poll());
  while (polled.spans.size() == spansAtOnce) {
    // What comes next is read while this is taken.
    auto next = std::async(std::launch::async, poll);
    take(polled);
    polled = LOCKSTEP_TRY(next.get());
  }
  take(polled);
  return {};
}

}  // namespace

base::Status readWholeRun(const std::filesystem::path& path,
                          const std::function<void(RunUpdate&)>& take) {
  const auto reader = LOCKSTEP_TRY(RunFileReader::open(path));
  RanksTogether together;
  const auto poll = [&]() -> base::Result<RunUpdate> {
    auto update = LOCKSTEP_TRY(reader->poll(kSpansOfRanks));
    together.order(update);
    return update;
  };
  return handOver(poll, take, kSpansOfRanks);
}

base::Status readWholeRun(RunFileReader& reader, const std::function<void(RunUpdate&)>& take,
                          std::size_t spansAtOnce) {
  return handOver([&reader, spansAtOnce] { return reader.poll(spansAtOnce); }, take, spansAtOnce);
}

}  // namespace lockstep::trace
