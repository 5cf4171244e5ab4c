// Errors are values: every function that can fail returns Result<T>, and no function throws.
//
// An Error is one sentence for a person and a code for a program. Callers add context with in():
// the innermost function reports what it found, its callers add the tensor and the file.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace ckpt {

// Tells who can fix the problem.
enum class ErrorCode : uint8_t {
  kUsage,        // the person at the command line: wrong words, OUT exists
  kCorrupt,      // the creator of the input: it contradicts itself or its format
  kUnsupported,  // nobody: sound input that this program cannot handle
  kIo,           // the machine or a server: disk full, no permission, read error, a bad answer
  kInterrupted,  // nobody: Ctrl-C
};

// The option or action that a hint names. A caller whose command lacks it replaces the hint.
enum class Remedy : uint8_t { kOther, kForce, kOtherOut, kRemoval, kTokenizer, kKeep };

// Advice about the next command, without "Try:"; may be empty.
struct Hint {
  std::string text = {};
  Remedy remedy = Remedy::kOther;

  Hint() = default;
  Hint(std::string words, Remedy kind = Remedy::kOther) : text(std::move(words)), remedy(kind) {}
  Hint(const char* words, Remedy kind = Remedy::kOther) : text(words), remedy(kind) {}
};

struct Error {
  ErrorCode code = ErrorCode::kCorrupt;
  std::string where;  // "out/model.safetensors: tensor 'lm_head.weight'", outermost place first
  std::string what;   // what was found; what was expected. No final period.
  std::string hint;   // see Hint
  bool is_missing = false;  // a file or folder that the command names does not exist
  Remedy remedy = Remedy::kOther;  // what `hint` asks for

  // Returns the same error with `place` before `where`, unless the text already starts with it:
  // "m/config.json" needs no "m:" before it.
  [[nodiscard]] Error in(std::string_view place) && {
    if (starts_at(place)) return std::move(*this);
    where = where.empty() ? std::string(place) : fmt::format("{}: {}", place, where);
    return std::move(*this);
  }

  // Returns "where: what. Try: hint."
  [[nodiscard]] std::string text() const {
    std::string out = where.empty() ? what : fmt::format("{}: {}", where, what);
    if (!hint.empty()) out += fmt::format(". Try: {}", hint);
    return out;
  }

 private:
  [[nodiscard]] bool starts_at(std::string_view place) const {
    const std::string_view sentence = where.empty() ? what : where;
    if (place.empty() || !sentence.starts_with(place)) return false;
    const std::string_view rest = sentence.substr(place.size());
    return rest.empty() || rest[0] == '/' || rest[0] == ':' || place.back() == '/';
  }
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;
using Failure = tl::unexpected<Error>;

// Example: fail(ErrorCode::kCorrupt, "{} bytes; expected {}", found, expected).
template <class... Args>
[[nodiscard]] Failure fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Failure(Error{code, {}, fmt::format(format, std::forward<Args>(args)...), {}});
}

// Failures with the most frequent codes: wrong words or names on the command line, an input that
// contradicts itself, and sound input that is not supported.
template <class... Args>
[[nodiscard]] Failure misuse(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kUsage, format, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Failure corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kCorrupt, format, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Failure unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kUnsupported, format, std::forward<Args>(args)...);
}

// The failure for a path that the user gave but that does not exist.
template <class... Args>
[[nodiscard]] Failure not_found(fmt::format_string<Args...> format, Args&&... args) {
  return Failure(
      Error{ErrorCode::kUsage, {}, fmt::format(format, std::forward<Args>(args)...), {}, true});
}

// Does the same as fail(), and adds what to try next.
template <class... Args>
[[nodiscard]] Failure fail_with_hint(ErrorCode code, Hint hint, fmt::format_string<Args...> format,
                                     Args&&... args) {
  return Failure(Error{code,
                       {},
                       fmt::format(format, std::forward<Args>(args)...),
                       std::move(hint.text),
                       false,
                       hint.remedy});
}

// The most frequent codes with a hint.
template <class... Args>
[[nodiscard]] Failure misuse_hint(Hint hint, fmt::format_string<Args...> format, Args&&... args) {
  return fail_with_hint(ErrorCode::kUsage, std::move(hint), format, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Failure corrupt_hint(Hint hint, fmt::format_string<Args...> format, Args&&... args) {
  return fail_with_hint(ErrorCode::kCorrupt, std::move(hint), format, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Failure unsupported_hint(Hint hint, fmt::format_string<Args...> format,
                                       Args&&... args) {
  return fail_with_hint(ErrorCode::kUnsupported, std::move(hint), format,
                        std::forward<Args>(args)...);
}

// Adds a place to the error of a result, if it has one.
template <class T>
[[nodiscard]] Result<T> in(std::string_view place, Result<T>&& result) {
  if (result) return std::move(result);
  return Failure(std::move(result.error()).in(place));
}

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "ckpt: bug: %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace ckpt

// Checks for bugs of ckpt; an input can only cause an Error.
#define CKPT_CHECK(condition) \
  ((condition) ? void(0) : ::ckpt::check_failed(__FILE__, __LINE__, #condition))

#define CKPT_CONCAT_INNER(a, b) a##b
#define CKPT_CONCAT(a, b) CKPT_CONCAT_INNER(a, b)

// Returns the error of `expression` from the enclosing function, if it has one.
#define CKPT_TRY(expression)                                                  \
  do {                                                                        \
    auto ckpt_result = (expression);                                          \
    if (!ckpt_result) return ::ckpt::Failure(std::move(ckpt_result.error())); \
  } while (false)

// CKPT_SET(x, f()) assigns f()'s value to x, or returns its error from the enclosing function.
#define CKPT_SET(target, expression)                                          \
  do {                                                                        \
    auto ckpt_result = (expression);                                          \
    if (!ckpt_result) return ::ckpt::Failure(std::move(ckpt_result.error())); \
    target = std::move(*ckpt_result);                                         \
  } while (false)

// CKPT_ASSIGN(auto x, f()) defines x as f()'s value, or returns its error from the function.
#define CKPT_ASSIGN(declaration, expression) \
  CKPT_ASSIGN_INNER(CKPT_CONCAT(ckpt_result_, __LINE__), declaration, expression)
#define CKPT_ASSIGN_INNER(result, declaration, expression)        \
  auto result = (expression);                                     \
  if (!result) return ::ckpt::Failure(std::move(result.error())); \
  declaration = std::move(*result)
