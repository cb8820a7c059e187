#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::imports {

/// The bytes of a file, a part at a time, decompressed where it is a gzip. One thread at a time.
class ByteSource {
 public:
  /// Errors: no such file, a folder, a gzip in a build without zlib.
  static base::Result<std::unique_ptr<ByteSource>> open(const std::filesystem::path& path);
  virtual ~ByteSource() = default;

  /// Fills `buffer` from its begin; 0: the end, or status() has an error.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;

  /// A file that cannot be read, or a gzip that is cut off or damaged.
  [[nodiscard]] virtual base::Status status() const = 0;
};

/// The whole of a file; an error where that is more than `most` bytes.
base::Result<std::vector<char>> readWhole(const std::filesystem::path& path, std::size_t most);

/// Input iterators over a source, for parsers that take a byte at a time.
class Bytes {
 public:
  explicit Bytes(ByteSource& source) : source_(source), buffer_(kPart) { refill(); }

  class Iterator {
   public:
    using value_type = char;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Bytes* bytes) : bytes_(bytes) {}
    char operator*() const { return *bytes_->at_; }
    Iterator& operator++() {
      if (++bytes_->at_ == bytes_->end_) {
        bytes_->refill();
      }
      return *this;
    }
    Iterator operator++(int) { return ++*this; }  // parsers do not look back
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.ended() == b.ended(); }

   private:
    [[nodiscard]] bool ended() const { return bytes_ == nullptr || bytes_->at_ == bytes_->end_; }
    Bytes* bytes_;
  };
  Iterator begin() { return Iterator(this); }
  static Iterator end() { return Iterator(nullptr); }

 private:
  static constexpr std::size_t kPart = 1 << 18;
  void refill() {
    at_ = buffer_.data();
    end_ = at_ + source_.read(buffer_.data(), buffer_.size());
  }

  ByteSource& source_;
  std::vector<char> buffer_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace lockstep::imports
