#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/Result.h"
#include "engine/export/Survey.h"

namespace lockstep::report {

/// Writes what there is to say of a run, live or finished, as one HTML page that needs no other
/// file and no network ("-": standard output; a name that ends in ".gz" is compressed). Returns its
/// size in bytes. Errors: those of RunFileReader, a file that cannot be written, kInterrupted; then
/// there is no file, or the one before. [any-thread]
base::Result<std::uint64_t> writeHtml(const std::filesystem::path& run,
                                      const std::filesystem::path& file,
                                      const exports::Progress& progress = {});

}  // namespace lockstep::report
