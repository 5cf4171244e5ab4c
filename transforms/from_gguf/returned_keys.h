// Keys tokenizer.* and general.sampling.* of a GGUF, next to those that a conversion of the folder
// writes: none is lost in silence. Private to from_gguf/.
#pragma once

#include <string>
#include <vector>

#include "core/model/transform.h"
#include "transforms/to_gguf/model.h"

namespace ckpt {

struct ReturnedKeys {
  Metadata made;  // by a conversion of the folder
  std::vector<std::string>
      absent;  // the file's that `made` lacks, or has by other rules of splitting
  std::vector<std::string> other;  // that have another value there
  std::string first_difference;    // of `other`: "tokenizer.ggml.eos_token_id: 7 here, 6 there"
};

// `model`: of the folder. `is_own`: the folder's tokenizer is made of the file's keys, so that its
// pre-tokenizer is the file's. Fails: as add_tokenizer_keys.
Result<ReturnedKeys> find_returned_keys(const Checkpoint& file, const Checkpoint& folder,
                                        const Model& model, bool is_own, const Context& context);

// One note that lists the keys that the folder does not give back, if there are any.
void note_lost_keys(const ReturnedKeys& keys, const Context& context);

// Fails: kUsage: a key of the file that BASE contradicts, as a key of the architecture would.
Status refuse_other_keys(const ReturnedKeys& keys);

// Ids of config.json and generation_config.json that are another token in `made`.
Status follow_token_ids(const Metadata& made, const Checkpoint& file, Checkpoint& folder);

}  // namespace ckpt
