// SPDX-License-Identifier: Apache-2.0
//
// Result<T> is either a value or an Error. Everything that reads files or user input returns one;
// only the command line prints errors and turns them into exit codes.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace stemtap {

// Error says in one line what went wrong, where (`file:row` where there is one) and what was expected.
struct Error {
  std::string message;
  // The exit code that fits: 1 for failures of input or machine, 2 for wrong use.
  int exit_code = 1;
};

// Success carries nothing; Result<Success> is the result of a deed.
struct Success {};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(content_); }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  T& value() & {
    assert(ok());
    return *std::get_if<T>(&content_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<T>(&content_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<T>(&content_));
  }

  // REQUIRES: !ok().
  const Error& error() const {
    assert(!ok());
    return *std::get_if<Error>(&content_);
  }

 private:
  std::variant<T, Error> content_;
};

using Status = Result<Success>;

}  // namespace stemtap
