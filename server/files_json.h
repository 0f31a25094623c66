// SPDX-License-Identifier: Apache-2.0
/*
 * What is told of a file to clients: EntryInfo of E2B's filesystem service.
 */
#pragma once

#include "lib/base/buf.h"
#include "sandbox/files_listing.h"

/* {"name":...,"type":...,...} */
void files_json_info(struct buf *out, const struct files_info *i);
void files_json_listed(struct buf *out, const struct files_listed *f);

/* {"name":...,"path":...,"type":"file"} and metadata if there is some: of an upload. */
void files_json_written(struct buf *out, const struct files_info *i);
