#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

#include "engine/base/Result.h"

namespace lockstep::train {

/// What a safetensors file holds (https://huggingface.co/docs/safetensors, format of 2022): an
/// 8-byte little-endian length, a JSON header of that length that gives dtype, shape and byte
/// range of each tensor and, under "__metadata__", texts; then the tensors, row-major.
struct Safetensors {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes a file under a temporary name beside `path`, makes it durable and renames it, so that
/// `path` is either what it was or complete. Tensors are on the CPU, of dtype F64 F32 F16 BF16
/// I64 I32 I16 I8 U8 or BOOL. Error (kEnvironment): the file system's.
base::Status writeSafetensors(const std::filesystem::path& path, const Safetensors& content);

/// Says whether writeSafetensors() could write there now. Error (kEnvironment): as there.
base::Status checkWritable(const std::filesystem::path& path);

/// Reads a whole file into new CPU tensors. Errors (kBadInput), each naming the file and, where
/// it is one tensor's, the tensor: unreadable, damaged header, unknown dtype, byte ranges that
/// overlap, leave gaps or do not fit the shape, cut off or too long (expected and found bytes).
base::Result<Safetensors> readSafetensors(const std::filesystem::path& path);

}  // namespace lockstep::train
