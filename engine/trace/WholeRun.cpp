#include "engine/trace/WholeRun.h"

#include "engine/base/Try.h"

namespace lockstep::trace {

base::Status readWholeRun(const std::filesystem::path& path,
                          const std::function<void(RunUpdate&)>& take) {
  const auto reader = RunFileReader::open(path);
  return reader.ok() ? readWholeRun(*reader.value(), take) : base::Status(reader.error());
}

base::Status readWholeRun(RunFileReader& reader, const std::function<void(RunUpdate&)>& take,
                          std::size_t spansAtOnce) {
  for (bool more = true; more;) {
    auto polled = LOCKSTEP_TRY(reader.poll(spansAtOnce));
    more = polled.spans.size() == spansAtOnce;
    take(polled);
  }
  return {};
}

}  // namespace lockstep::trace
