/* b11284's struct llama_model_params and its defaults. */
struct llama_model_params {
    void * devices;
    void * tensor_buft_overrides;
    int32_t n_gpu_layers;
    int split_mode;
    int load_mode;
    int lazy_mode;
    int32_t main_gpu;
    void * tensor_split;
    void * progress_callback;
    void * progress_callback_user_data;
    void * kv_overrides;
    bool vocab_only;
    bool check_tensors;
    bool use_extra_bufts;
    bool no_host;
    bool no_alloc;
    bool load_mtp;
};
struct llama_model_params llama_model_default_params(void) {
    struct llama_model_params params = {
        /* devices */ NULL,
        /* tensor_buft_overrides */ NULL,
        /* n_gpu_layers */ -1,
        /* split_mode */ 1,
        /* load_mode */ -1,
        /* lazy_mode */ 1,
        /* main_gpu */ 0,
        /* tensor_split */ NULL,
        /* progress_callback */ NULL,
        /* progress_callback_user_data */ NULL,
        /* kv_overrides */ NULL,
        /* vocab_only */ false,
        /* check_tensors */ false,
        /* use_extra_bufts */ true,
        /* no_host */ false,
        /* no_alloc */ false,
        /* load_mtp */ false,
    };
    return params;
}
