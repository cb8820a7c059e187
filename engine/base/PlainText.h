#pragma once

#include <string>
#include <string_view>

namespace lockstep::base {

/// Returns a text that others wrote (a plugin's error, the contents of a file) as a terminal may be
/// given it: control characters, but for line ends and tabs, and bytes that are no UTF-8 are spelt
/// out, "\x1b[2J". So they are seen, and steer nothing.
std::string plainText(std::string_view text);

/// Returns the last line of a text that is not blank, without blanks and ends of lines behind it;
/// "" where there is none. As a rule it says why a program ended.
std::string lastLine(std::string_view text);

}  // namespace lockstep::base
