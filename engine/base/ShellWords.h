#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::base {

/// A command as one line that a shell takes: words with other characters in quotes.
std::string shellLine(const std::vector<std::string>& words);

/// The words of such a line: quotes and backslashes as a shell reads them, and ~ at the start of a
/// word. No shell is asked: what only a shell can do (pipes, redirections, variables, several
/// commands) is an Error that names it, as is a quote that is not closed.
Result<std::vector<std::string>> shellWords(std::string_view line);

/// What people call a command by: its script, or else its program. `words` is not empty.
std::string commandName(const std::vector<std::string>& words);

}  // namespace lockstep::base
