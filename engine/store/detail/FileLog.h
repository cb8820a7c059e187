#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/posix/Descriptor.h"
#include "engine/store/detail/Deadline.h"
#include "engine/store/detail/KeyTable.h"

namespace lockstep::store::detail {

// Note [The store's file]
//   header:  "LKSTORE2" | u32 length of the job's name | the name
//   record:  u8 1 = set, 2 = delete, 3 = append | u32 key length | u32 value length | key | value
// Numbers are little-endian. Records are appended under an exclusive lock on the whole file
// (flock), and read under a shared one. Whoever dies while appending leaves a torn tail: readers
// stop before it, and the next writer cuts it off.

/// The file of a FileStore, replayed into a KeyTable. Not synchronised: the owner guards it.
class FileLog {
 public:
  enum class Mode { kRead, kWrite };

  /// Opens or creates the file; throws StoreError when that fails or another job made it.
  FileLog(std::string path, const std::string& job, const Deadline& deadline);
  FileLog(const FileLog&) = delete;
  FileLog& operator=(const FileLog&) = delete;

  /// Holds the file's lock and has the table up to date.
  class Session {
   public:
    Session(FileLog& log, Mode mode, const Deadline& deadline);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void set(const std::string& key, const std::string& value);
    void append(const std::string& key, const std::string& value);
    void erase(const std::string& key);
    /// Deletes the file; the other instances must be gone.
    void removeFile();

   private:
    FileLog& log_;
  };

  [[nodiscard]] const KeyTable& table() const { return table_; }

 private:
  bool open(const std::string& job, const Deadline& deadline);
  void readHeader(const std::string& job);
  void lock(Mode mode, const Deadline& deadline) const;
  void unlock() const;
  void replay();
  void append(std::uint8_t kind, std::string_view key, std::string_view value);
  void writeAtEnd(const std::string& bytes);
  [[nodiscard]] std::string readFrom(std::int64_t position) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  posix::Descriptor file_;
  std::int64_t position_ = 0;  ///< end of the last whole record read
  KeyTable table_;
};

}  // namespace lockstep::store::detail
