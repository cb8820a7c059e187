#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Parse.h"

namespace lockstep::cli {

/// Writes "lockstep: <text>" to stderr as one line, in base::plainText.
void complain(const std::string& text);

/// Writes a text, in base::plainText: in a report stand words of run files and plugins.
void printPlain(const std::string& text, std::FILE* to = stdout);

/// Complains and returns the error's exit code.
int fail(const base::Error& error);

/// Complains about each mistake; returns the exit code of bad input.
int fail(const std::vector<experiment::Mistake>& mistakes);

}  // namespace lockstep::cli
