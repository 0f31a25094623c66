// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/image/trust.h"

#include "kernel/core/kernel.h"
#include "kernel/fs/image/keystore.h"
#include "kernel/fs/image/place.h"
#include "lib/base/buf.h"
#include "lib/base/trust.h"

#include <stdio.h>

#define NAME             "glovebox-ca"
#define FILES_MAX        16384
#define HASHED_LINKS_MAX 10 /* subjects with one hash */

/* Bundles of systems, and those that libraries bring along and look at instead. */
static const char *const bundles[] = {
    "ssl/certs/ca-certificates.crt",               /* Debian, Alpine, Arch */
    "ssl/certs/ca-bundle.crt",                     /* NixOS */
    "ssl/cert.pem",                                /* Alpine, conda */
    "ssl/ca-bundle.pem",                           /* SUSE, */
    "ca-certificates/ca-bundle.pem",               /* and where its link leads */
    "ca-certificates/extracted/tls-ca-bundle.pem", /* Arch */
    "pki/tls/cert.pem",                            /* Fedora and RHEL, of several ages */
    "pki/tls/certs/ca-bundle.crt",
    "extracted/pem/tls-ca-bundle.pem",
    "certifi/cacert.pem", /* Python: also those that pip and others carry */
    "botocore/cacert.pem",
    "httplib2/cacerts.txt",
    "_cython/_credentials/roots.pem", /* gRPC */
    "stripe/data/ca-certificates.crt",
    NULL,
};

/* Java's, wherever a JDK is; those of systems, to which many of them are links. */
static const char *const keystores[] = {"security/cacerts", "java/cacerts", NULL};

/* ---- the places ---- */

/* Where tools that make bundles take what they add. */
static int add_sources(const struct image_trust *t, struct super *s)
{
    static const char *const anchors[] = {
        "/etc/pki/ca-trust/source/anchors",          /* update-ca-trust(8) of Fedora, */
        "/etc/ca-certificates/trust-source/anchors", /* of Arch, */
        "/usr/share/pki/trust/anchors",              /* of SUSE */
    };
    for (size_t i = 0; i < ARRAY_SIZE(anchors); i++) {
        int r = image_has(anchors[i])
                    ? image_add_text(s, anchors[i], NAME ".crt", 0644, t->certificate)
                    : 0;
        if (r == -ENOMEM)
            return r;
    }
    int r = image_make_directories("/usr/local/share/ca-certificates");
    if (r < 0)
        return r;
    return image_add_text(s, "/usr/local/share/ca-certificates", NAME ".crt", 0644, t->certificate);
}

/* As update-ca-certificates(8) and c_rehash(1) leave the directory. */
static int add_hashed(const struct image_trust *t, struct super *s)
{
    int r = image_add_link(s, "/etc/ssl/certs", NAME ".pem", TRUST_CERTIFICATE);
    for (unsigned i = 0; r == 0 && i < HASHED_LINKS_MAX; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/etc/ssl/certs/%08x.%u", t->subject_hash, i);
        if (!image_has(path))
            return image_add_link(s, "/etc/ssl/certs", strrchr(path, '/') + 1, NAME ".pem");
    }
    return r;
}

/* Programs are told of one name; where the image has its roots under another, that is a link. */
static int add_bundle(const struct image_trust *t, struct super *s)
{
    static const char *const others[] = {
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    };
    struct walk_base base = image_base();
    struct path p;
    if (walk_path(&base, TRUST_BUNDLE, WALK_FOLLOW, &p, NULL) == 0) {
        if (p.dentry->super == s)
            layer_show_appendix(p.dentry->inode);
        path_put(&p);
        return 0;
    }
    const char *name = strrchr(TRUST_BUNDLE, '/') + 1;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (walk_path(&base, others[i], WALK_FOLLOW, &p, NULL) < 0)
            continue;
        path_put(&p);
        return image_add_link(s, "/etc/ssl/certs", name, others[i]);
    }
    return image_add_text(s, "/etc/ssl/certs", name, 0644, t->certificate);
}

/* For shells of a login, as su(1) starts them, which have none of the variables. */
static int add_profile(struct super *s)
{
    struct buf b = BUF_INIT(FILES_MAX);
    int r = image_make_directories("/etc/profile.d");
    for (size_t i = 0; r == 0 && i < trust_variable_count; i++) {
        const struct trust_variable *v = &trust_variables[i];
        r = buf_printf(&b, "export %s=\"${%s-%s}\"\n", v->name, v->name, v->value);
    }
    if (r == 0)
        r = image_add_text(s, "/etc/profile.d", NAME ".sh", 0644, b.data);
    buf_done(&b);
    return r;
}

static int add_certificates(const struct image_trust *t, struct super *s)
{
    int r = image_make_directories("/etc/ssl/certs");
    if (r == 0)
        r = add_bundle(t, s);
    return r == 0 ? add_hashed(t, s) : r;
}

static int rewrite_keystore(const struct layer_appendix *a, const void *data, size_t size,
                            struct buf *ret)
{
    return keystore_add(data, size, a->text + 1, ret);
}

static int report(int r, const char *place)
{
    if (r < 0 && r != -ENOMEM)
        kernel_log("trust: %s: %s; programs refuse the gateway's certificates if they look "
                   "nowhere else, give them an image where it can be made",
                   place, strerror(-r));
    return r == -ENOMEM ? r : 0;
}

int image_trust_add(const struct image_trust *trust, struct super *s)
{
    static struct layer_appendix appendix = {
        .names = bundles, .rewritten_names = keystores, .rewrite = rewrite_keystore};
    static struct buf text;
    text = BUF_INIT(FILES_MAX);
    /* The last line of what stands before may have no end; rewrite_keystore() knows of it. */
    int r = buf_printf(&text, "\n%s", trust->certificate);
    if (r < 0)
        return r;
    appendix.text = text.data;
    appendix.size = text.size;
    layer_set_appendix(s, &appendix);
    r = report(add_sources(trust, s), TRUST_CERTIFICATE);
    if (r == 0)
        r = report(add_certificates(trust, s), "/etc/ssl/certs");
    return r == 0 ? report(add_profile(s), "/etc/profile.d") : r;
}
