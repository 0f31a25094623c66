// SPDX-License-Identifier: Apache-2.0
#include "server/network.h"
#include "server/port_head.h"

static bool is_said(const json_t *value)
{
    return value && !json_is_null(value);
}

static bool is_mask(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) && port_mask_is_valid(text);
}

int network_check_ports(const json_t *network, bool is_public, bool *ret_is_public,
                        const char **ret_why)
{
    json_t *allowed = json_object_get(network, "allowPublicTraffic");
    json_t *mask = json_object_get(network, "maskRequestHost");
    if (is_said(allowed) && !json_is_boolean(allowed)) {
        *ret_why = "network.allowPublicTraffic: give true or false";
        return 400;
    }
    if (is_said(mask) && !is_mask(mask)) {
        *ret_why = "network.maskRequestHost: give a host name, with :PORT or :${PORT} behind it "
                   "where it is to have one";
        return 400;
    }
    *ret_is_public = is_said(allowed) ? json_is_true(allowed) : is_public;
    return 0;
}
