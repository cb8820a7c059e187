#include "engine/trace/WholeRun.h"

#include <future>

#include "engine/base/Try.h"

namespace lockstep::trace {

base::Status readWholeRun(const std::filesystem::path& path,
                          const std::function<void(RunUpdate&)>& take) {
  const auto reader = RunFileReader::open(path);
  return reader.ok() ? readWholeRun(*reader.value(), take) : base::Status(reader.error());
}

base::Status readWholeRun(RunFileReader& reader, const std::function<void(RunUpdate&)>& take,
                          std::size_t spansAtOnce) {
  auto polled = LOCKSTEP_TRY(reader.poll(spansAtOnce));
  while (polled.spans.size() == spansAtOnce) {
    // What comes next is read while this is taken.
    auto next =
        std::async(std::launch::async, [&reader, spansAtOnce] { return reader.poll(spansAtOnce); });
    take(polled);
    polled = LOCKSTEP_TRY(next.get());
  }
  take(polled);
  return {};
}

}  // namespace lockstep::trace
