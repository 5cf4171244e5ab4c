// The files of a folder that make its tokenizer.
#pragma once

#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// Puts those among `documents`, the small files of the folder `where`, into `checkpoint`, in the
// place of its own. Fails: kUsage when there are none.
Status take_tokenizer_files(const std::vector<Document>& documents, std::string_view where,
                            Checkpoint& checkpoint);

}  // namespace ckpt
