// The list of formats: the only header of this folder that others include.
#pragma once

#include "core/model/format.h"
#include "core/model/imatrix.h"
#include "core/model/plan.h"

namespace ckpt {

Formats all_formats();
const Format* find_format(std::string_view name);

// Which format reads `path`. Fails: kUsage when there is nothing at `path`, or a patch of it was
// interrupted (core/patch/journal.h), or a run has not finished it (core/resume/unfinished.h);
// kUnsupported, saying what was found there and what is accepted.
Result<const Format*> recognize(const std::filesystem::path& path);

// The small files of a Hugging Face folder that belong to a model (config, tokenizer, card; the
// table is in hf_documents.cc); weights are not read. Fails: kIo; kUsage for a link that leads
// elsewhere; kUnsupported for a document that is only an LFS pointer, or larger than any is.
Result<std::vector<Document>> read_documents(const std::filesystem::path& folder,
                                             const ReadOptions& options);

// A folder of safetensors as servers read it, whose index only says which files there are: all
// tensors of those are taken, wherever the index puts them. Fails: as reading does; kUnsupported
// where nothing is named by an index.
Result<Checkpoint> read_despite_index(const std::filesystem::path& folder, Codecs codecs,
                                      const ReadOptions& options);

// Whether `path`, a folder or a file, holds weights as PyTorch saves them, which are read but not
// changed in place.
bool holds_torch_weights(const std::filesystem::path& path);

// The index of a Hugging Face folder and the files at its top that it names; without an index, the
// weights that would be read, where they are named as a model's are. Fails: as reading would.
Result<std::vector<std::string>> files_of_weights(const std::filesystem::path& folder,
                                                  const ReadOptions& options);
// Whether a file of this name, relative to a Hugging Face folder, is one of those documents, the
// index, or weights as they are named when a model is saved. Looks at no file.
bool is_checkpoint_file(const std::string& path);
// Whether a file of this name can be one of the checkpoint `path`. `name` is relative to the folder
// that `path` is (documents, weights, the index) or is in (the file itself, the parts of a split
// GGUF).
bool is_file_of(const std::filesystem::path& path, const std::string& name);

// Reads an importance matrix, of either kind: GGUF, or llama-imatrix's legacy .dat.
Result<Imatrix> read_imatrix(const std::filesystem::path& path);
// The same of a file that is open.
Result<Imatrix> read_imatrix(const SharedSource& source);
// Its content, before sums are divided by counts.
Result<ImatrixSums> read_imatrix_sums(const std::filesystem::path& path);
Result<ImatrixSums> read_imatrix_sums(const SharedSource& source);

// A file that holds `sums`, as llama-imatrix writes it: legacy where `path` ends in ".dat", else
// GGUF. Requires: of `sums`, counts and sums are those of inputs (is_legacy is false), chunk_size
// is not 0. Fails: kUnsupported for a name that a GGUF cannot hold, for more than legacy counts
// can.
Result<Output> lay_out_imatrix(const ImatrixSums& sums, const std::filesystem::path& path,
                               Codecs codecs);

}  // namespace ckpt
