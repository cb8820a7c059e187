#include "engine/hooks/plugin/detail/Extents.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/hooks/plugin/detail/Buffers.h"

namespace lockstep::hooks::detail {

Extents::Extents(const at::Tensor& buffer)
    : elements_(buffer.numel()),
      dtype_(c10::toString(buffer.scalar_type())),
      begin_(reinterpret_cast<std::uintptr_t>(buffer.data_ptr())),
      end_(begin_ + buffer.nbytes()) {}

void Extents::add(const char* what, std::string_view whose, const at::Tensor& memory) {
  if (memory.defined()) {
    add(what, whose, memory.data_ptr(), memory.nbytes());
  }
}

void Extents::add(const char* what, std::string_view whose, const lockstep_buffer& memory) {
  if (memory.data != nullptr) {
    add(what, whose, memory.data,
        static_cast<std::uint64_t>(memory.numel) * c10::elementSize(dtypeOf(memory.dtype)));
  }
}

void Extents::add(const char* what, std::string_view whose, const void* data, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto end = begin + bytes;
  // They share no byte. A buffer without elements reaches nowhere.
  if (begin_ >= end_ || begin_ >= end || end_ <= begin) {
    return;
  }
  if (begin_ >= begin && end_ <= end) {
    inside_ = true;
  } else if (wrong_.empty()) {
    wrong_ = fmt::format("{} elements of {} are bytes {} to {} of {}{}, which has {}", elements_,
                         dtype_, static_cast<std::intptr_t>(begin_ - begin),
                         static_cast<std::intptr_t>(end_ - begin), what, whose, bytes);
  }
}

void Extents::check() const {
  // A piece may lie within another (a parameter's gradient in its bucket): one that holds the
  // buffer whole is enough.
  if (!inside_ && !wrong_.empty()) {
    throw std::invalid_argument(wrong_);
  }
}

}  // namespace lockstep::hooks::detail
