/*! gpt-tokenizer, MIT License, Copyright (c) 2023-2024 Bazyli Brzoska */

// A separate file, because the vocabulary has 2 MB and is loaded only at the first count.
export { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
