#pragma once

#include <string>
#include <string_view>

namespace lockstep::experiment::detail {

/// The one list of tables, [[faults]].
inline constexpr const char* kFaults = "faults";

/// Where a key is written: "hook.inner.density" under [hook.inner] as density,
/// "sweep.ddp.bucket_cap_mb" under [sweep] as "ddp.bucket_cap_mb", in quotes.
struct TextKey {
  std::string table;    ///< "" = before the first table
  std::string written;  ///< the name, in quotes where it needs them
};
TextKey textKey(std::string_view key);

/// Orders tables as the form shows them, a hook inside after its outer one, then the sweep, the
/// faults and what is not known.
double tableOrder(std::string_view table);

}  // namespace lockstep::experiment::detail
