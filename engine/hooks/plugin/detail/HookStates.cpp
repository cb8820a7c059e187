#include "engine/hooks/plugin/detail/HookStates.h"

#include <algorithm>
#include <cstring>

#include "engine/hooks/HookError.h"

namespace lockstep::hooks::detail {

namespace {

constexpr std::string_view kSignature = "lockstep hook state 1\n";

void putNumber(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    out.push_back(static_cast<char>(number >> shift & 0xFF));
  }
}

class Source {
 public:
  explicit Source(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) {
      throw HookError("the hook state in the checkpoint is cut short");
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t number = 0;
    int shift = 0;
    for (const char c : take(8)) {
      number |= static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << shift;
      shift += 8;
    }
    return number;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

const HookStates::Entry* HookStates::find(std::string_view id) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [id](const Entry& entry) { return entry.id == id; });
  return found == entries.end() ? nullptr : &*found;
}

std::string HookStates::toBytes() const {
  std::string out(kSignature);
  for (const Entry& entry : entries) {
    putNumber(out, entry.id.size());
    out += entry.id;
    putNumber(out, entry.schema);
    putNumber(out, entry.bytes.size());
    out += entry.bytes;
  }
  return out;
}

HookStates HookStates::fromBytes(std::string_view bytes) {
  Source source(bytes);
  HookStates states;
  if (bytes.empty()) {
    return states;
  }
  if (source.take(std::min<std::size_t>(kSignature.size(), bytes.size())) != kSignature) {
    throw HookError("the hook state in the checkpoint is none of this Lockstep's");
  }
  while (!source.empty()) {
    Entry& entry = states.entries.emplace_back();
    entry.id = source.take(source.number());
    entry.schema = static_cast<std::uint32_t>(source.number());
    entry.bytes = source.take(source.number());
  }
  return states;
}

}  // namespace lockstep::hooks::detail
