//! What a worker does not inherit.

use superfluid_core::runtime::env::{is_credential, scrub};

#[test]
fn case_x09_credentials_are_judged_by_name() {
    let gone = [
        "HF_TOKEN",
        "OPENAI_API_KEY",
        "my_api_key",
        "DB_PASSWORD",
        "PGPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "CLIENT_SECRET",
        "TOKEN",
        "GITHUB_PAT",
        "GITHUB_TOKEN_2",
        "HUGGING_FACE_HUB_TOKEN",
        "DJANGO_SECRET_KEY",
        "SSH_PRIVATE_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "DATABASE_URL",
        "REDIS_URL",
        "MONGODB_URI",
        "SENTRY_DSN",
        "MYSQL_PWD",
        "SMTP_PASS",
        "X_PASSWD",
        "APIKEY",
        "Npm_Config_AuthToken",
        "AZURE_STORAGE_CONNECTION_STRING",
        "password",
        "api-key",
    ];
    let kept = [
        "MONKEY",
        "TOKENIZERS_PARALLELISM",
        "PATH",
        "PWD",
        "OLDPWD",
        "HOME",
        "LANG",
        "COMPAT",
        "BYPASS",
        "KEYBOARD",
        "SUPERFLUID_HOME",
        "SUPERFLUID_LLAMA_LIB",
        "CUDA_VISIBLE_DEVICES",
        "LD_LIBRARY_PATH",
        "HTTPS_PROXY",
        "MAX_TOKENS",
        "SECRETARY",
        "SSH_AUTH_SOCK",
        "HOMEPAGE_URL",
        "TOKEN_COUNT",
        "",
        "_",
        "42",
    ];
    for name in gone {
        assert!(is_credential(name), "{name}");
    }
    for name in kept {
        assert!(!is_credential(name), "{name}");
    }
    assert_eq!(scrub(kept.into_iter().chain(gone)), gone);
}
