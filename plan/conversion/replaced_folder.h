// Paths that --force may remove from a folder: those that its index, this plan and a publication
// name at its top. Everything else was put there by somebody, and the run is refused with the list.
//
//   shards                     those that the index names; without one, those that would be read
//   config, tokenizer          as read_documents() takes them
//   README.md, LICENSE         as ckpt wrote them, or as they are written again
//   any of these documents     not when changed since ckpt wrote it
//   SHA256SUMS, model.sig ...  of `ckpt publish`
//   .cache/huggingface         the notes of `hf download` about these files, no cache of models
//   files of other users       never, unless the folder is that user's too
//   folders without files      never
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/plan.h"

namespace ckpt {

// The files of the folder at `output.path` that go, relative to it. Fails: kUsage with the list of
// what would be lost; kIo.
Result<std::vector<std::string>> replaceable_files(const Output& output);

// Requires of what stands under the temporary name of a folder that runs of ckpt have put it there.
// Fails: kUsage with the list of the rest; kIo.
Status check_unfinished_folder(const Output& output);

}  // namespace ckpt
