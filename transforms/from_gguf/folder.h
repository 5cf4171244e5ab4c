// The folder that a GGUF becomes: which model it is, and its tensors.
#pragma once

#include <optional>

#include "transforms/from_gguf/skeleton.h"
#include "transforms/vl/families.h"

namespace ckpt {

struct ReturnedFolder {
  Checkpoint folder;  // headers and config.json; return_tensors gives them the file's values
  Forward forward;    // what to-gguf makes of it
  uint64_t kept = 0;  // tensors of the base that no GGUF of the text model has
};

struct ReturnedTypes {
  const Codec& floats;
  bool keeps_mxfp4 = false;  // experts stay so
};

// The first family of the file's architecture whose configuration gives the file's keys and
// tensors. Several share one: Llama, Mistral and Mixtral. Fails: kUnsupported, naming the first key
// or tensor that differs.
Result<ReturnedFolder> find_folder(const Checkpoint& file, const ReturnedTypes& types,
                                   const Context& context);

// Documents of the base, its tensors as names and types. Fails: kUsage: another model's.
Result<ReturnedFolder> folder_of_base(const Checkpoint& file, Checkpoint base,
                                      const Context& context);

// Stored as `type`; nullptr: each as the folder has it.
Status return_tensors(const Checkpoint& file, const Codec* type, ReturnedFolder& found,
                      const Context& context);

// How a model of `architecture` comes back: itself, or of a wrapper ("...ForConditionalGeneration")
// its text part; nullopt where that has no class of its own.
struct ReturnedClass {
  const VlFamily* wrapper = nullptr;  // null: it is none
  std::string_view architecture;
};
std::optional<ReturnedClass> returned_class(std::string_view architecture);

// The text part of a wrapped model gets its own class in config.json; the keys of the file are
// those of the wrapper. Gives the class; "" for what is a text model. Fails: kUnsupported: a
// wrapper whose text part has no class.
Result<std::string> name_text_class(ReturnedFolder& found);

}  // namespace ckpt
