// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/usage.h"

#include "kernel/boot/control.h"
#include "kernel/core/traffic.h"
#include "kernel/fs/filesystems.h"
#include "kernel/proc/process.h"

static uint32_t count_processes(void)
{
    const struct process *p;
    uint32_t count = 0;
    list_for_each(p, &process_all, all_link)
    {
        count += p->state == PROCESS_ALIVE && p != process_init;
    }
    return count;
}

void usage_tell(const struct control_packet *p)
{
    const struct storage_budget *disk = layer_budget(vfs_root_mount->super);
    const struct control_used used = {
        .disk_bytes = disk->used_bytes,
        .inodes = disk->used_inodes,
        .received_bytes = traffic.received_bytes,
        .sent_bytes = traffic.sent_bytes,
        .processes = count_processes(),
        .threads = (uint32_t)process_count_tasks(),
    };
    struct control_packet answer = {
        .type = CONTROL_USED, .value = p->value, .text_size = sizeof(used)};
    control_fill_totals(&answer);
    control_send_packet(&answer, (const char *)&used);
}
