#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <string_view>

namespace lockstep::train {

/// A dtype as safetensors files name it.
struct SafetensorsDtype {
  std::string_view name;
  c10::ScalarType type;
};

inline constexpr std::array<SafetensorsDtype, 10> kSafetensorsDtypes{{
    {"F64", c10::ScalarType::Double},
    {"F32", c10::ScalarType::Float},
    {"F16", c10::ScalarType::Half},
    {"BF16", c10::ScalarType::BFloat16},
    {"I64", c10::ScalarType::Long},
    {"I32", c10::ScalarType::Int},
    {"I16", c10::ScalarType::Short},
    {"I8", c10::ScalarType::Char},
    {"U8", c10::ScalarType::Byte},
    {"BOOL", c10::ScalarType::Bool},
}};

inline const SafetensorsDtype* findDtype(c10::ScalarType type) {
  for (const auto& dtype : kSafetensorsDtypes) {
    if (dtype.type == type) return &dtype;
  }
  return nullptr;
}
inline const SafetensorsDtype* findDtype(std::string_view name) {
  for (const auto& dtype : kSafetensorsDtypes) {
    if (dtype.name == name) return &dtype;
  }
  return nullptr;
}

}  // namespace lockstep::train
