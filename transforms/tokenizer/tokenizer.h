// The step "tokenizer": mends or exchanges the files that say how text becomes numbers.
//
//   for=transformers-4.57   what transformers 5 wrote so that 4.57 reads it too (tokenizer_mend.cc)
//   from=DIR                the tokenizer of DIR, where it is proven to be the same one
//                           (tokenizer_from.cc; keys of a GGUF file: tokenizer_gguf.cc)
//
// What a reader would get wrong: equal vocabularies are not equal tokenizers. The rules by which a
// text is cut before merging differ between model families that share a vocabulary's form, and the
// ids of accented letters and digits with them (docs/TOKENIZERS.md).
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kTokenizer;

}  // namespace ckpt
