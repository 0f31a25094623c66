// SPDX-License-Identifier: Apache-2.0
/*
 * What makes the programs of an image trust the authority of lib/base/trust.h, without a change to
 * the image: the bundles of roots that it has are shown with one certificate more at their end, and
 * the certificate stands where tools look that make such bundles anew.
 */
#pragma once

#include "kernel/fs/filesystems.h"

struct image_trust {
    const char *certificate; /* PEM, ended by a newline; borrowed for good */
    uint32_t subject_hash;   /* of its subject, as X509_NAME_hash(3) has it: names in directories */
};

/*
 * To the layer s, which is the root already. Places that the image lacks, or in which nothing can
 * be made, are left out, with a line in the log. 0, or -ENOMEM.
 */
int image_trust_add(const struct image_trust *trust, struct super *s);
