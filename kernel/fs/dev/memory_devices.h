// SPDX-License-Identifier: Apache-2.0
/*
 * The devices of mem(4) that are no memory: null(4), full(4), random(4).
 */
#pragma once

#include "kernel/fs/vfs.h"

extern const struct file_ops null_device_ops, zero_device_ops, full_device_ops;
extern const struct file_ops random_device_ops, urandom_device_ops;
