// SPDX-License-Identifier: Apache-2.0
/* openapi.json as data of the program; FILE comes from the build. */
    .section .rodata
    .globl openapi_json, openapi_json_end
openapi_json:
    .incbin FILE
openapi_json_end:
    .section .note.GNU-stack, "", @progbits
