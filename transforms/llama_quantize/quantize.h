// The quantize step: a GGUF checkpoint in, the one llama-quantize would write out.
//
// Changed are: the types of tensors (mixture.h), their order (by block, then by name), leading axes
// of one, which are dropped, and a few keys (metadata.h). Everything else passes through.
// A reader would expect a tensor made as BF16 by an earlier step to be quantized from its original
// values; it is rounded to BF16 first, so that one run equals two.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// Requires: a checkpoint of format "gguf". Fails: kUsage for options and for requantizing without
// leave; kCorrupt for metadata or an importance matrix that disagrees with the tensors;
// kUnsupported for a tensor whose type cannot be decoded.
Result<Checkpoint> quantize(Checkpoint checkpoint, const OptionValues& options,
                            const Context& context);

}  // namespace ckpt
