#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace lockstep::posix {

/// Owns memory that is shared with whoever maps the same file; readable and writable.
class Mapping {
 public:
  Mapping() = default;
  /// Maps the first `bytes` of `fd`, which may be closed afterwards. Where that fails data() is
  /// null, and errno says why.
  Mapping(int fd, std::size_t bytes) : bytes_(bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    data_ = memory == MAP_FAILED ? nullptr : memory;
  }
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (data_ != nullptr) {
      munmap(data_, bytes_);
    }
  }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace lockstep::posix
