/* b11284's struct llama_context_params and its defaults. */
struct llama_context_params {
    uint32_t n_ctx;
    uint32_t n_batch;
    uint32_t n_ubatch;
    uint32_t n_seq_max;
    uint32_t n_rs_seq;
    uint32_t n_outputs_max;
    uint32_t n_outputs_max_per_seq;
    int32_t n_threads;
    int32_t n_threads_batch;
    int ctx_type;
    int rope_scaling_type;
    int pooling_type;
    int attention_type;
    int flash_attn_type;
    float rope_freq_base;
    float rope_freq_scale;
    float yarn_ext_factor;
    float yarn_attn_factor;
    float yarn_beta_fast;
    float yarn_beta_slow;
    uint32_t yarn_orig_ctx;
    float defrag_thold;
    void * cb_eval;
    void * cb_eval_user_data;
    int type_k;
    int type_v;
    void * abort_callback;
    void * abort_callback_data;
    bool embeddings;
    bool offload_kqv;
    bool no_perf;
    bool op_offload;
    bool swa_full;
    bool kv_unified;
    void * samplers;
    size_t n_samplers;
    void * ctx_other;
};
struct llama_context_params llama_context_default_params(void) {
    struct llama_context_params params = {
        /* n_ctx */ 512,
        /* n_batch */ 2048,
        /* n_ubatch */ 512,
        /* n_seq_max */ 1,
        /* n_rs_seq */ 0,
        /* n_outputs_max */ 0,
        /* n_outputs_max_per_seq */ 1,
        /* n_threads */ 4,
        /* n_threads_batch */ 4,
        /* ctx_type */ 0,
        /* rope_scaling_type */ -1,
        /* pooling_type */ -1,
        /* attention_type */ -1,
        /* flash_attn_type */ -1,
        /* rope_freq_base */ 0.0f,
        /* rope_freq_scale */ 0.0f,
        /* yarn_ext_factor */ -1.0f,
        /* yarn_attn_factor */ -1.0f,
        /* yarn_beta_fast */ -1.0f,
        /* yarn_beta_slow */ -1.0f,
        /* yarn_orig_ctx */ 0,
        /* defrag_thold */ -1.0f,
        /* cb_eval */ NULL,
        /* cb_eval_user_data */ NULL,
        /* type_k */ 1,
        /* type_v */ 1,
        /* abort_callback */ NULL,
        /* abort_callback_data */ NULL,
        /* embeddings */ false,
        /* offload_kqv */ true,
        /* no_perf */ true,
        /* op_offload */ true,
        /* swa_full */ true,
        /* kv_unified */ false,
        /* samplers */ NULL,
        /* n_samplers */ 0,
        /* ctx_other */ NULL,
    };
    return params;
}
