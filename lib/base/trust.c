// SPDX-License-Identifier: Apache-2.0
#include "lib/base/trust.h"

/*
 * None of them turns verification off. SSL_CERT_DIR is not among them: with it several clients look
 * at no file any more.
 */
const struct trust_variable trust_variables[] = {
    {"SSL_CERT_FILE", TRUST_BUNDLE}, /* OpenSSL, Go, rustls-native-certs, uv */
    {"CURL_CA_BUNDLE", TRUST_BUNDLE},
    {"REQUESTS_CA_BUNDLE", TRUST_BUNDLE},
    {"PIP_CERT", TRUST_BUNDLE},
    {"AWS_CA_BUNDLE", TRUST_BUNDLE},
    {"GIT_SSL_CAINFO", TRUST_BUNDLE},
    {"CARGO_HTTP_CAINFO", TRUST_BUNDLE},
    {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", TRUST_BUNDLE},
    {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", TRUST_BUNDLE},
    {"HTTPLIB2_CA_CERTS", TRUST_BUNDLE},
    {"NIX_SSL_CERT_FILE", TRUST_BUNDLE},
    {"PERL_LWP_SSL_CA_FILE", TRUST_BUNDLE},
    {"npm_config_cafile", TRUST_BUNDLE},
    {"BUNDLE_SSL_CA_CERT", TRUST_BUNDLE},
    {"HEX_CACERTS_PATH", TRUST_BUNDLE},
    {"JULIA_SSL_CA_ROOTS_PATH", TRUST_BUNDLE},
    {"SYSTEM_CERTIFICATE_PATH", TRUST_BUNDLE}, /* Haskell */
    {"DENO_CERT", TRUST_BUNDLE},
    {"DENO_TLS_CA_STORE", "system,mozilla"},
    {"UV_SYSTEM_CERTS", "true"},
    /* Adds to the roots that Node has. */
    {"NODE_EXTRA_CA_CERTS", TRUST_CERTIFICATE},
    {"NODE_USE_SYSTEM_CA", "1"},
};
const size_t trust_variable_count = ARRAY_SIZE(trust_variables);
