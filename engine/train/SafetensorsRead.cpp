#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/train/Safetensors.h"
#include "engine/train/SafetensorsDtype.h"

namespace lockstep::train {
namespace {

constexpr std::uint64_t kLargestHeader = 100'000'000;  // the format's own limit

struct Entry {
  std::string name;
  const SafetensorsDtype* dtype = nullptr;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

using Json = nlohmann::json;

bool isCount(const Json& json) {
  return json.is_number_unsigned() && json.get<std::uint64_t>() < (1ull << 62);
}

/// Reads what the header says of one tensor; returns what is wrong, or an empty text.
std::string readEntry(const Json& json, Entry& entry) {
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    return "the header lacks its dtype, shape or data_offsets";
  }
  const Json& dtype = json["dtype"];
  entry.dtype = dtype.is_string() ? findDtype(std::string_view(dtype.get_ref<const std::string&>()))
                                  : nullptr;
  if (entry.dtype == nullptr) {
    return "unknown dtype " + dtype.dump();
  }
  const Json& shape = json["shape"];
  const Json& offsets = json["data_offsets"];
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), isCount) ||
      !offsets.is_array() || offsets.size() != 2 || !isCount(offsets[0]) || !isCount(offsets[1])) {
    return "the header's shape or data_offsets are no whole numbers";
  }
  entry.shape = shape.get<std::vector<std::int64_t>>();
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  std::uint64_t bytes = c10::elementSize(entry.dtype->type);
  for (const std::int64_t size : entry.shape) {
    // A damaged header must not make a small product of huge sizes.
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      return "its shape is impossible";
    }
  }
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    return fmt::format("its shape takes {} bytes, data_offsets [{}, {}] do not", bytes, entry.begin,
                       entry.end);
  }
  return "";
}

}  // namespace

base::Result<Safetensors> readSafetensors(const std::filesystem::path& path) {
  const auto bad = [&](const std::string& what) {
    return base::Error{base::ExitCode::kBadInput, what, path.string()};
  };
  std::error_code failure;
  const bool regular = std::filesystem::is_regular_file(path, failure);
  const std::uint64_t fileBytes = regular ? std::filesystem::file_size(path, failure) : 0;
  std::ifstream stream(path, std::ios::binary);
  if (!regular || failure || !stream) {
    return bad("cannot be read; a safetensors file is needed");
  }
  std::uint64_t length = 0;
  stream.read(reinterpret_cast<char*>(&length), sizeof length);
  // The read has failed for a file of less than 8 bytes, so that the difference is none below 0.
  if (!stream || length > kLargestHeader || length > fileBytes - sizeof length) {
    return bad(fmt::format("cut off, or no safetensors file: {} bytes, header of {} expected",
                           fileBytes, fileBytes < sizeof length ? 8 : length));
  }
  std::string text(length, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(length));
  const Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) {
    return bad("damaged: the header is no JSON object");
  }
  Safetensors content;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      for (const auto& [key, item] : value.items()) {
        if (!item.is_string()) {
          return bad(fmt::format("damaged: metadata {} is no text", key));
        }
        content.metadata[key] = item.get<std::string>();
      }
      continue;
    }
    Entry entry;
    entry.name = name;
    if (const std::string wrong = readEntry(value, entry); !wrong.empty()) {
      return bad(fmt::format("tensor {}: {}", name, wrong));
    }
    entries.push_back(std::move(entry));
  }
  // By place: each must begin where the one before ends, which finds overlaps and gaps in one pass.
  // Tensors without elements begin and end at one place, hence the second key.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const auto& entry : entries) {
    if (entry.begin != at) {
      return bad(fmt::format("tensor {}: its bytes begin at {}, the tensor before ends at {}",
                             entry.name, entry.begin, at));
    }
    at = entry.end;
  }
  if (const std::uint64_t found = fileBytes - sizeof length - length; found != at) {
    return bad(fmt::format("{}: {} bytes of tensors expected, {} found",
                           found < at ? "cut off" : "too long", at, found));
  }
  for (const auto& entry : entries) {
    at::Tensor tensor = at::empty(entry.shape, entry.dtype->type);
    stream.read(static_cast<char*>(tensor.data_ptr()),
                static_cast<std::streamsize>(entry.end - entry.begin));
    if (!stream) {
      return bad(fmt::format("tensor {}: reading failed", entry.name));
    }
    content.tensors.emplace(entry.name, std::move(tensor));
  }
  return content;
}

}  // namespace lockstep::train
