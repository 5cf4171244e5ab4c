// The files of a folder that define its tokenizer.
#pragma once

#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

bool is_of_tokenizer(const Document& document);
bool is_chat_template(const Document& document);
// Replaces the checkpoint's files of this kind by those among `documents`. Files that `documents`
// lack, such as a vocabulary in another form, are removed.
void exchange_files(const std::vector<Document>& documents, bool (*is_it)(const Document&),
                    Checkpoint& checkpoint);
// Does the same with the small files of the folder `where`, including its chat templates. Fails:
// kUsage if there is no vocabulary among them.
Status take_tokenizer_files(const std::vector<Document>& documents, std::string_view where,
                            Checkpoint& checkpoint);

}  // namespace ckpt
