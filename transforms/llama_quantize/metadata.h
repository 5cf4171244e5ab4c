// What quantizing changes in GGUF metadata, as llama-quantize writes it.
//
//   all keys of the input, in order  | general.quantization_version | general.file_type
//   without these and split.*        | quantize.imatrix.file .dataset .entries_count .chunks_count
//
// The keys on the right are taken out of their old place and appended, so an input that was
// quantized before changes its order. general.alignment is kept, and honored when the file is laid
// out: llama-quantize keeps it too, but aligns to 32, so that its result does not load where the
// key says otherwise.
// Source: llama.cpp src/llama-quant.cpp, tools/quantize/quantize.cpp; gguf_set_kv in
// ggml/src/gguf.cpp.
#pragma once

#include "core/model/imatrix.h"
#include "core/model/metadata.h"
#include "transforms/llama_quantize/mixture.h"

namespace ckpt {

// `imatrix` may be null.
void update_quantized_metadata(Metadata& metadata, FileType file_type, const Imatrix* imatrix);

}  // namespace ckpt
