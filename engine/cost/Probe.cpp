#include "engine/cost/Probe.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

namespace lockstep::cost {

std::string probeText(const std::vector<TransferSample>& probes) {
  std::string text;
  for (const TransferSample& probe : probes) {
    text += fmt::format("{}{}:{:.0f}", text.empty() ? "" : " ", probe.bytes, probe.ns);
  }
  return text;
}

std::vector<TransferSample> probesFrom(std::string_view text) {
  std::vector<TransferSample> probes;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const char* const end = word.data() + word.size();
    TransferSample probe;
    std::uint64_t ns = 0;
    const auto bytes = std::from_chars(word.data(), end, probe.bytes);
    if (bytes.ec != std::errc() || bytes.ptr == end || *bytes.ptr != ':') {
      continue;
    }
    const auto time = std::from_chars(bytes.ptr + 1, end, ns);
    if (time.ec == std::errc() && time.ptr == end && probe.bytes > 0 && ns > 0) {
      probe.ns = static_cast<double>(ns);
      probes.push_back(probe);
    }
  }
  return probes;
}

}  // namespace lockstep::cost
