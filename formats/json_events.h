// JSON that is taken event by event, for files that may name a million tensors: no tree is built.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/json/json_reader.h"

namespace ckpt {

// Subclasses take the events they expect and refuse() the others.
class JsonEvents : public JsonSink {
 public:
  // Runs over all of `text`. Fails: kCorrupt; where `text` is not JSON, with its line and
  // column, or with its byte in the file when it begins at `start_byte` of a binary one.
  Status run(std::string_view text, std::optional<uint64_t> start_byte = {});

 protected:
  // Ends the run; run() fails with `reason`.
  bool refuse(std::string reason);
  // "the number 7", "the text 'a'", "null"
  static std::string described(std::string_view spelling);
  // A number from 0 to 2^64 - 1, written without fraction and exponent.
  static std::optional<uint64_t> whole_number(std::string_view spelling);

 private:
  std::string reason_;
};

}  // namespace ckpt
