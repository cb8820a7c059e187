#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "engine/base/Result.h"

struct gzFile_s;

namespace lockstep::train {

/// Reads a file that may be compressed with gzip, from the start on.
class MaybeGzip {
 public:
  /// Error (kBadInput): the file cannot be opened.
  static base::Result<MaybeGzip> open(const std::filesystem::path& path);
  MaybeGzip(MaybeGzip&& other) noexcept;
  MaybeGzip& operator=(MaybeGzip&&) = delete;
  ~MaybeGzip();

  /// Reads up to `bytes`; fewer only at the end of the file, whether it ends properly or is cut
  /// off. Error (kBadInput): compressed data that are damaged.
  base::Result<std::string> read(std::size_t bytes);

 private:
  MaybeGzip(gzFile_s* file, std::string path) : file_(file), path_(std::move(path)) {}
  gzFile_s* file_;
  std::string path_;
};

}  // namespace lockstep::train
