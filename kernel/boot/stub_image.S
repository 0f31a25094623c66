// SPDX-License-Identifier: Apache-2.0
/* The loader stub's ELF file as data of the kernel program; STUB_FILE comes from the build. */
    .section .rodata
    .globl stub_image_begin, stub_image_finish
stub_image_begin:
    .incbin STUB_FILE
stub_image_finish:
    .section .note.GNU-stack, "", @progbits
