#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <lockstep/hook/run.hpp>

namespace lockstep::plugin {

/// Arithmetic by the host on buffers of any device, in the order of the calls: lockstep.math/1,
/// which says the rules. Its functions throw Error.
class Math {
 public:
  /// Throws Error for a host that has none.
  explicit Math(Host host)
      : host_(host),
        table_(static_cast<const lockstep_ext_math*>(
            host.raw()->extension(host.raw(), "lockstep.math/1"))) {
    if (table_ == nullptr) {
      throw Error(LOCKSTEP_E_UNSUPPORTED, "this host does not calculate on devices");
    }
  }

  void copy(const lockstep_buffer& in, const lockstep_buffer& out) const {
    done(table_->copy(host_.raw(), &in, &out), "copy");
  }
  void fill(const lockstep_buffer& out, double value) const {
    done(table_->fill(host_.raw(), &out, value), "fill");
  }
  void multiply(const lockstep_buffer& inout, double factor) const {
    done(table_->multiply(host_.raw(), &inout, factor), "multiply");
  }
  void divide(const lockstep_buffer& inout, double divisor) const {
    done(table_->divide(host_.raw(), &inout, divisor), "divide");
  }
  void addScaled(const lockstep_buffer& inout, const lockstep_buffer& in, double factor) const {
    done(table_->add_scaled(host_.raw(), &inout, &in, factor), "add_scaled");
  }
  /// out (m by n) = A (m by k) B (k by n); `transposed`: LOCKSTEP_TRANSPOSED_A, ...
  void matmul(const lockstep_buffer& a, const lockstep_buffer& b, const lockstep_buffer& out,
              std::int64_t m, std::int64_t k, std::int64_t n, std::uint32_t transposed = 0) const {
    done(table_->matmul(host_.raw(), &a, &b, &out, m, k, n, transposed), "matmul");
  }

  [[nodiscard]] lockstep_buffer allocate(const lockstep_buffer& like, std::int64_t numel,
                                         std::int32_t dtype) const {
    lockstep_buffer out{};
    done(table_->allocate(host_.raw(), &like, numel, dtype, &out), "allocate");
    return out;
  }
  void release(const lockstep_buffer& buffer) const { table_->release(host_.raw(), &buffer); }

 private:
  static void done(lockstep_status status, const char* function) {
    if (status != LOCKSTEP_OK) {
      throw Error(status, std::string(function) + " was refused");
    }
  }

  Host host_;
  const lockstep_ext_math* table_;
};

/// Memory of the hook's own on a device, zeros at first; goes with this.
class Memory {
 public:
  Memory(const Math& math, const lockstep_buffer& like, std::int64_t numel,
         std::int32_t dtype = LOCKSTEP_F32)
      : math_(math), buffer_(math.allocate(like, numel, dtype)) {}
  Memory(Memory&& other) noexcept
      : math_(other.math_), buffer_(std::exchange(other.buffer_, {})) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(math_, other.math_);
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~Memory() {
    if (buffer_.data != nullptr) {
      math_.release(buffer_);
    }
  }

  [[nodiscard]] const lockstep_buffer& buffer() const { return buffer_; }

 private:
  Math math_;
  lockstep_buffer buffer_{};
};

}  // namespace lockstep::plugin
