#include "engine/hooks/plugin/detail/HookStates.h"

#include <algorithm>

#include "engine/base/ByteCodec.h"
#include "engine/hooks/HookError.h"

namespace lockstep::hooks::detail {

namespace {

constexpr std::string_view kSignature = "lockstep hook state 1\n";

}  // namespace

const HookStates::Entry* HookStates::find(std::string_view id) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [id](const Entry& entry) { return entry.id == id; });
  return found == entries.end() ? nullptr : &*found;
}

std::string HookStates::toBytes() const {
  std::string out(kSignature);
  base::ByteWriter writer(out);
  for (const Entry& entry : entries) {
    writer.put<std::uint64_t>(entry.id.size());
    out += entry.id;
    writer.put<std::uint64_t>(entry.schema);
    writer.put<std::uint64_t>(entry.bytes.size());
    out += entry.bytes;
  }
  return out;
}

HookStates HookStates::fromBytes(std::string_view bytes) {
  HookStates states;
  if (bytes.empty()) {
    return states;
  }
  if (!bytes.starts_with(kSignature)) {
    throw HookError("the hook state in the checkpoint is none of this Lockstep's");
  }
  base::ByteReader reader(bytes.substr(kSignature.size()));
  while (!reader.atEnd()) {
    // A length that is missing reads as 0: the fields after it are missing as well, and tell.
    const auto id = reader.bytes(reader.take<std::uint64_t>().value_or(0));
    const auto schema = reader.take<std::uint64_t>();
    const auto state = reader.bytes(reader.take<std::uint64_t>().value_or(0));
    if (!id || !schema || !state) {
      throw HookError("the hook state in the checkpoint is cut short");
    }
    states.entries.push_back(
        {std::string(*id), static_cast<std::uint32_t>(*schema), std::string(*state)});
  }
  return states;
}

}  // namespace lockstep::hooks::detail
