#pragma once

namespace lockstep::tests {

/// From here on each warning of Qt fails the test that runs, with its text: a user would read it on
/// stderr, and it says that something was called as it must not be.
void failOnQtComplaints();

}  // namespace lockstep::tests
