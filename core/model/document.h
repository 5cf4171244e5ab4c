// A small file that accompanies the tensors, complete, as text or bytes; its JSON is parsed once.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"

namespace ckpt {

class JsonText;

// A value: copies share one text and what was parsed of it. The text never changes; another text is
// another document (Checkpoint::set_document).
class Document {
 public:
  Document(std::string its_path, std::string text);

  std::string path;  // relative to the checkpoint's folder

  const std::string& text() const;
  // The text as JSON, as values or as what can be edited: parsed when first asked for, by any copy.
  // Fails: kCorrupt, naming the path, each time: no JSON, or nested deeper than kMaxJsonDepth.
  Result<std::shared_ptr<const nlohmann::json>> values() const;
  Result<std::shared_ptr<const JsonText>> tree() const;

 private:
  struct Content;
  std::shared_ptr<Content> content_;
};

}  // namespace ckpt
