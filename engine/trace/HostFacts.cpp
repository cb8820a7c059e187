#include "engine/trace/HostFacts.h"

#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <initializer_list>
#include <sstream>

namespace lockstep::trace {
namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string kernelWithSpaces(std::initializer_list<const char*> spaces) {
  std::string text = firstLine("/proc/sys/kernel/random/boot_id");
  for (const char* space : spaces) {
    std::array<char, 64> name{};
    const ssize_t length = readlink(space, name.data(), name.size());
    text += ' ';
    text.append(name.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  }
  return text;
}

}  // namespace

std::string processStart(std::int64_t pid) {
  if (pid <= 0) {
    return "";
  }
  // "pid (name) state ppid ...": the name may hold blanks and parentheses. State is field 3,
  // the start time in clock ticks after boot field 22.
  const std::string line = firstLine(fmt::format("/proc/{}/stat", pid));
  // The last one: after the name no field has any.
  const auto nameEnd = line.rfind(')');
  if (nameEnd == std::string::npos) {
    return "";
  }
  std::istringstream fields(line.substr(nameEnd + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") {
    return "";
  }
  for (int at = 4; at <= 22; ++at) {
    fields >> field;
  }
  return firstLine("/proc/sys/kernel/random/boot_id") + "/" + field;
}

std::string hostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string hostIdentity() {
  return kernelWithSpaces({"/proc/self/ns/net", "/proc/self/ns/time"});
}

std::string processSpace() {
  return kernelWithSpaces({"/proc/self/ns/pid"});
}

std::string networkFileSystemOf(const std::filesystem::path& path) {
  struct statfs facts {};
  return statfs(path.c_str(), &facts) == 0 ? networkFileSystemName(facts.f_type) : "";
}

std::string networkFileSystemName(std::int64_t magic) {
  switch (static_cast<std::uint32_t>(magic)) {
    case 0x6969:
      return "nfs";
    case 0x517B:
      return "smb";
    case 0xFF534D42:
      return "cifs";
    case 0xFE534D42:
      return "smb2";
    case 0x5346414F:
      return "afs";
    case 0x73757245:
      return "coda";
    case 0x00C36400:
      return "ceph";
    case 0x0BD00BD0:
      return "lustre";
    case 0x47504653:
      return "gpfs";
    case 0x19830326:
      return "beegfs";
    case 0x01021997:
      return "9p";
    default:
      return "";
  }
}

}  // namespace lockstep::trace
