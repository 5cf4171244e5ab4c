// Finds the table of an architecture.
#include "core/base/words.h"
#include "models/gguf/rows.h"

namespace ckpt {

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  for (const auto tables : {gguf_rows::dense_architectures(), gguf_rows::encoder_architectures(),
                            gguf_rows::expert_architectures(), gguf_rows::hybrid_architectures()}) {
    for (const GgufArchitecture& rules : tables) {
      if (has_word(rules.names, name)) return &rules;
    }
  }
  return nullptr;
}

}  // namespace ckpt
