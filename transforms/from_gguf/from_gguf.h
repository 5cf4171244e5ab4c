// from-gguf: NVFP4 weights of a GGUF file become a ModelOpt folder again; bits move, nothing
// rounds.
//
//   base folder ── to-gguf, headers only ──▶ names, rows and columns of the file
//        │                                        │  each rows' way, turned round
//        └── names, configuration, tokenizer, ────┴──▶ folder
//            all that is not NVFP4
//
// What a reader would get wrong: GGUF holds neither the names nor the configuration of a folder,
// and other tensors only as to-gguf changed them: those are the base's, which must be the model
// that the file was made from. That is checked on the last norm alone.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kFromGguf;

}  // namespace ckpt
