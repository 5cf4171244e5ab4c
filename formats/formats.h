// The list of formats: the only header of this folder that others include.
#pragma once

#include "core/model/findings.h"
#include "core/model/format.h"
#include "core/model/imatrix.h"
#include "core/model/plan.h"

namespace ckpt {

Formats all_formats();
const Format* find_format(std::string_view name);

// The format that reads `path`. Fails: kUsage if `path` does not exist, a patch of it was
// interrupted (core/patch/journal.h), or a run has not finished it (core/resume/unfinished.h);
// kUnsupported, naming what was found and what is accepted.
Result<const Format*> recognize(const std::filesystem::path& path);

// The small files of a Hugging Face folder that belong to a model (config, tokenizer, card; the
// table is in hf_documents.cc); weights are not read. Fails: kIo; kUsage for a link that leads out
// of the folder; kUnsupported for a document that is an LFS pointer, or too large.
Result<std::vector<Document>> read_documents(const std::filesystem::path& folder,
                                             const ReadOptions& options);

// As the format reads it, and sets `misfit`. Of a folder with an index, all tensors of the files
// that the index names are read, whichever file it gives for them, as transformers does it; of
// tensors in several files the copy in the last one.
// Fails: as reading does.
Result<Checkpoint> read_despite_misfit(const std::filesystem::path& folder, Codecs codecs,
                                       const ReadOptions& options, FileMisfit& misfit);

// Moves keys of a GGUF that come again from `read` to `misfit`.
void tell_repeated_keys(const std::filesystem::path& path, Checkpoint& read, FileMisfit& misfit);

// The index of a folder as it is; nullopt: none. Fails: kIo; as read_documents.
Result<std::optional<Document>> read_index_document(const std::filesystem::path& folder,
                                                    const ReadOptions& options);
// The index that the folder's files of weights need: those with the usual names, and others that
// the present index names. Fails: as reading does; kUnsupported: files of PyTorch.
Result<Document> index_of_files(const std::filesystem::path& folder, Codecs codecs,
                                const ReadOptions& options);

// "FILE: N bytes after the last tensor" for the first file of a GGUF of which that is true, beyond
// its final padding; empty otherwise. llama.cpp ignores such bytes.
std::string bytes_after_tensors(const Checkpoint& checkpoint);

// Whether a file of this name holds parts of tensors, as each rank of a training run saves them.
bool is_file_of_ranks(const std::string& name);

// Whether `path`, a folder or a file, holds weights as PyTorch saves them, which are read but not
// changed in place.
bool holds_torch_weights(const std::filesystem::path& path);

// The index of a Hugging Face folder and the top-level files that it names; without an index, the
// weights that would be read, if they have the usual names. Fails: as reading would.
Result<std::vector<std::string>> files_of_weights(const std::filesystem::path& folder,
                                                  const ReadOptions& options);
// Whether a name, relative to a Hugging Face folder, is that of one of these documents, of the
// index, or of weights as they are usually named. Reads no file.
bool is_checkpoint_file(const std::string& path);
// Whether a file of this name can belong to the checkpoint `path`. If `path` is a folder, `name` is
// relative to it (documents, weights, the index); if it is a file, to its folder (the file itself,
// the parts of a split GGUF).
bool is_file_of(const std::filesystem::path& path, const std::string& name);

// Reads an importance matrix, of either kind: GGUF, or llama-imatrix's legacy .dat.
Result<Imatrix> read_imatrix(const std::filesystem::path& path);
// Reads an importance matrix from an open file.
Result<Imatrix> read_imatrix(const SharedSource& source);
// Its content, before sums are divided by counts.
Result<ImatrixSums> read_imatrix_sums(const std::filesystem::path& path);
Result<ImatrixSums> read_imatrix_sums(const SharedSource& source);

// A file with `sums`, as llama-imatrix writes it: legacy if `path` ends in ".dat", otherwise GGUF.
// Requires: counts and sums are those of inputs (is_legacy is false), and chunk_size is not 0.
// Fails: kUnsupported for a name that a GGUF cannot hold, or counts that the legacy format cannot
// hold.
Result<Output> lay_out_imatrix(const ImatrixSums& sums, const std::filesystem::path& path,
                               Codecs codecs);

}  // namespace ckpt
