#include "transforms/tokenizer/files.h"

#include <algorithm>

namespace ckpt {

Status take_tokenizer_files(const std::vector<Document>& documents, std::string_view where,
                            Checkpoint& checkpoint) {
  static constexpr std::string_view kFiles[] = {"tokenizer.json",
                                                "tokenizer_config.json",
                                                "special_tokens_map.json",
                                                "added_tokens.json",
                                                "vocab.json",
                                                "merges.txt",
                                                "tokenizer.model",
                                                "tiktoken.model",
                                                "chat_template.jinja",
                                                "chat_template.json"};
  bool has_any = false;
  for (const Document& document : documents) {
    if (std::ranges::find(kFiles, document.path) == std::end(kFiles)) continue;
    has_any = true;
    checkpoint.set_document(document);
  }
  if (has_any) return {};
  return fail(ErrorCode::kUsage, "{}: no tokenizer.json or tokenizer_config.json in this folder",
              where);
}

}  // namespace ckpt
