// The files of a folder that make its tokenizer.
#pragma once

#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

bool is_of_tokenizer(const Document& document);
bool is_chat_template(const Document& document);
// Puts those among `documents` into `checkpoint`, in the place of its own: whatever is not there, a
// vocabulary in another form, goes.
void exchange_files(const std::vector<Document>& documents, bool (*is_it)(const Document&),
                    Checkpoint& checkpoint);
// The same for the small files of the folder `where`, with its chat templates if it has any. Fails:
// kUsage where no vocabulary is among them.
Status take_tokenizer_files(const std::vector<Document>& documents, std::string_view where,
                            Checkpoint& checkpoint);

}  // namespace ckpt
