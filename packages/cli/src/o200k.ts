/*! gpt-tokenizer, MIT License, Copyright (c) 2023-2024 Bazyli Brzoska */

// The vocabulary is a file of its own, 2 MB of it: it is loaded at the first count, and no other vocabulary is installed.
export { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
