//! Serves GGUF files through llama.cpp, loaded at run time.
