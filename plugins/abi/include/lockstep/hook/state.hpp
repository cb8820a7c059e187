#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lockstep/hook/buffers.hpp>

namespace lockstep::plugin {

class Writer {
 public:
  explicit Writer(const lockstep_writer* raw) : raw_(raw) {}
  void bytes(const void* data, std::size_t size) {
    if (raw_->write(raw_->context, data, size) != LOCKSTEP_OK) {
      throw Error(LOCKSTEP_E_STATE, "the checkpoint could not be written");
    }
  }
  template <typename T>
  void number(const T& value) {
    bytes(&value, sizeof value);
  }
  template <typename T>
  void vector(const std::vector<T>& values) {
    number(static_cast<std::uint64_t>(values.size()));
    bytes(values.data(), values.size() * sizeof(T));
  }

 private:
  const lockstep_writer* raw_;
};

class Reader {
 public:
  explicit Reader(lockstep_reader* raw) : raw_(raw) {}
  [[nodiscard]] std::uint64_t left() const { return raw_->left; }
  void bytes(void* data, std::size_t size) {
    if (size > raw_->left || raw_->read(raw_, data, size) != LOCKSTEP_OK) {
      throw Error(LOCKSTEP_E_STATE, "the saved state ends too early");
    }
  }
  template <typename T>
  [[nodiscard]] T number() {
    T value{};
    bytes(&value, sizeof value);
    return value;
  }
  template <typename T>
  [[nodiscard]] std::vector<T> vector() {
    const auto size = number<std::uint64_t>();
    if (size > raw_->left / sizeof(T)) {
      throw Error(LOCKSTEP_E_STATE, "the saved state ends too early");
    }
    std::vector<T> values(static_cast<std::size_t>(size));
    bytes(values.data(), values.size() * sizeof(T));
    return values;
  }

 private:
  lockstep_reader* raw_;
};

}  // namespace lockstep::plugin
