#include "app/cli/Complaint.h"

#include <algorithm>

#include "engine/base/PlainText.h"

namespace lockstep::cli {

void complain(const std::string& text) {
  std::string line = "lockstep: " + text;
  // One complaint, one line, so that scripts can count and search them.
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "%s\n", base::plainText(line).c_str());
}

void printPlain(const std::string& text, std::FILE* to) {
  const std::string plain = base::plainText(text);
  std::fwrite(plain.data(), 1, plain.size(), to);
}

int fail(const base::Error& error) {
  complain(error.message());
  return static_cast<int>(error.code);
}

int fail(const std::vector<experiment::Mistake>& mistakes) {
  for (const auto& mistake : mistakes) {
    complain(mistake.message());
  }
  return static_cast<int>(base::ExitCode::kBadInput);
}

}  // namespace lockstep::cli
