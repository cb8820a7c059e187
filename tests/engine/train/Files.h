#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace lockstep::train {

inline void writeFile(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string readFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void writeGzip(const std::filesystem::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

/// Returns the bytes of an IDX file.
inline std::string idx(const std::vector<std::uint32_t>& sizes, const std::string& data) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (const auto size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes += static_cast<char>(size >> shift & 0xFF);
    }
  }
  return bytes + data;
}

/// Writes a set of MNIST's layout with pictures of 28x28: class c has its rows 2c and 2c+1
/// lit, so that anything can learn it.
inline void writeStripedDigits(const std::filesystem::path& folder, int train, int test) {
  const auto write = [&](const std::string& prefix, int count) {
    std::string pictures;
    std::string labels;
    for (int i = 0; i < count; ++i) {
      const int label = (i * 7 + i / 10) % 10;
      std::string picture(28 * 28, '\0');
      for (int x = 0; x < 56; ++x) {
        picture[static_cast<std::size_t>(label * 56 + x)] =
            static_cast<char>(128 + (i * 31 + x) % 128);
      }
      pictures += picture;
      labels += static_cast<char>(label);
    }
    const auto n = static_cast<std::uint32_t>(count);
    writeGzip(folder / (prefix + "-images-idx3-ubyte.gz"), idx({n, 28, 28}, pictures));
    writeGzip(folder / (prefix + "-labels-idx1-ubyte.gz"), idx({n}, labels));
  };
  write("train", train);
  write("t10k", test);
}

}  // namespace lockstep::train
