// Used by the layouts of both formats.
#pragma once

#include "core/model/format.h"

namespace ckpt {

// Headers are held in memory, one for each file of a split, and readers bound what they take: so is
// the room for later edits that one may be given. Fails: kUsage.
Status check_header_slack(const LayoutOptions& options);

// Whether a laid-out file equals one that exists, so that it can be copied as a whole.
// Sets file.same_as when every byte of `file` - header, gaps, extents - is what one source of its
// tensors holds at the same place. Reads that source's header and gaps, no tensor bytes.
// Fails: kIo.
Status find_same_file(const Checkpoint& checkpoint, OutputFile& file);

// The one slice that a part is; null when it is made of several, or is to be encoded.
const Slice* slice_of(const Tensor& tensor, size_t part);

}  // namespace ckpt
