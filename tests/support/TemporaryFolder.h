#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::support {

/// A folder of its own under $TMPDIR, removed with all it holds at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }

  /// Writes a file, making the folders on the way, and returns its path.
  std::filesystem::path write(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

/// Returns the content of a file; throws std::runtime_error when it cannot be read.
std::string readFile(const std::filesystem::path& path);

}  // namespace lockstep::support
