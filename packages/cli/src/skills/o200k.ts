/*! gpt-tokenizer, MIT License, Copyright (c) 2023-2024 Bazyli Brzoska */

// This is a separate module, so that the vocabulary of 2 MB is loaded only when tokens are first counted.
export { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
