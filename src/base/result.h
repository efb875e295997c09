// SPDX-License-Identifier: Apache-2.0
//
// Result<T> is either a value or an Error. All functions that read files or user input return a
// Result. Only the command line prints errors and converts them to exit codes.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace stemtap {

// Error is a one-line message: where (`file:row` if known), what is wrong and what was expected.
struct Error {
  std::string message;
  // Suggested exit code: 1 for input and system failures, 2 for wrong usage.
  int exit_code = 1;
};

// Success is an empty value. Result<Success> is for operations that return no value.
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

// Evaluates to the value of `expression`, which is a Result. If it is an error, returns the error
// from the enclosing function. Must not be nested in the argument of another STEMTAP_TRY.
//   const Plan plan = STEMTAP_TRY(LoadPlan(path));
//   STEMTAP_TRY(sink.Write(PlanToJson(plan)));
#define STEMTAP_TRY(expression)                                     \
  __extension__({                                                   \
    auto&& stemtap_result = (expression);                           \
    if (!stemtap_result.ok()) return stemtap_result.error();        \
    std::forward<decltype(stemtap_result)>(stemtap_result).value(); \
  })
