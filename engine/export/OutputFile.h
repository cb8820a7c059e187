#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"

namespace lockstep::exports {

/// A file that is there whole or not at all: it is written under another name in the same folder
/// and gets its own by `commit`, taking the place of an older file; without that nothing is left
/// of it. A name that ends in ".gz" is compressed. "-" is standard output; a device or a pipe is
/// written as it is. The first failure is kept, and `commit` returns it. One thread at a time.
class OutputFile {
 public:
  /// Errors: the folder is missing or not writable, `path` is a folder, no compression here.
  static base::Result<std::unique_ptr<OutputFile>> create(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kBufferBytes) {
      flush();
    }
  }
  /// What is appended here is written by the next `write` or `commit`.
  [[nodiscard]] std::string& buffer() { return buffer_; }

  /// False once something failed: what is written now is for nothing.
  [[nodiscard]] bool ok() const { return failure_.ok(); }

  /// Writes the rest and closes; for a name, `commit` follows. Nothing can be written any more.
  base::Status close();

  /// Closes, and gives the file its name.
  base::Status commit();

  /// Bytes given to the file system so far.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  class Gzip;
  static constexpr std::size_t kBufferBytes = 1 << 18;

  explicit OutputFile(std::filesystem::path path);
  void flush();
  void put(const char* data, std::size_t size);
  void fail();

  std::filesystem::path path_;
  std::filesystem::path draft_;  // empty: `path_` is written as it is
  posix::Descriptor descriptor_;
  std::string buffer_;
  std::unique_ptr<Gzip> gzip_;
  std::uint64_t bytes_ = 0;
  base::Status failure_;
};

}  // namespace lockstep::exports
