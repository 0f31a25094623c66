// SPDX-License-Identifier: Apache-2.0
/* Every limit on what a client can make grow. */
#pragma once

/* ---- connections ---- */
#define CONNECTIONS_MAX   4096  /* at once; the machine may allow less */
#define SPARE_FDS         256   /* that are not connections of clients */
#define READ_BYTES        65536 /* taken from a socket at once; also what waits unread in memory */
#define OUTPUT_HIGH       (256 * 1024)      /* a stream rests above it */
#define OUTPUT_MAX        (8 * 1024 * 1024) /* of one connection; an answer that is larger is cut */
#define ANSWER_FIELDS_MAX 12
#define HELD_MAX          (256 * 1024 * 1024) /* of all: bodies that are collected, answers that wait */

/* In seconds. */
#define HANDSHAKE_S      10  /* of TLS, from connecting */
#define FIRST_REQUEST_S  60  /* from connecting to the first byte */
#define IDLE_S           640 /* between two requests: longer than any SDK keeps a connection */
#define HEAD_S           30  /* from the first byte of a head to its last */
#define BODY_S           60  /* without a byte of a body */
#define OUTPUT_S         60  /* without a byte taken of an answer */
#define STREAM_OUTPUT_S  620 /* of a stream */
#define HALF_ENDED_S     60  /* without a byte of what is relayed to who has ended its own way */
#define KEEPALIVE_IDLE_S 300 /* after which a client of a tunnel is asked whether it is there */
#define LINGER_S         5   /* for a client to see the answer to what it still sends */
#define LINGER_BYTES     (64 * 1024 * 1024) /* of a file for which there is no room, say */

/* ---- bodies, in bytes ---- */
#define CONTROL_BODY_MAX (256 * 1024)
#define ENVD_BODY_MAX    (4 * 1024 * 1024) /* of a message: SendInput has up to 2 MiB of it */
#define JSON_DEPTH_MAX   32

/* ---- sandboxes ---- */
#define BOXES_MAX          1024  /* records in memory; the launcher's own limit is lower */
#define METADATA_MAX_BYTES 16384 /* of keys and values, of one sandbox */
#define ENV_MAX_BYTES      65536
#define TIMEOUT_MAX_S      86400
#define RULES_MAX          256    /* entries of allowOut, and of denyOut */
#define STREAMS_MAX        1000   /* open at once, of all sandboxes */
#define CHANGES_MAX        256    /* of networks, that are under way or wait for their turn */
#define CHANGES_OF_ONE_MAX 8      /* likewise, of one sandbox */
#define PORT_RELAYS_MAX    256    /* requests to ports of one sandbox at once, with WebSockets */
#define AUDIT_ROWS_MAX     100000 /* of all tenants: the oldest goes of who has most */

/* ---- events ---- */
#define EVENTS_MAX                  20000 /* kept, of all tenants */
#define EVENT_DATA_MAX_BYTES        8192  /* with more it is kept without */
#define EVENT_STREAMS_MAX           64
#define EVENT_STREAMS_OF_TENANT_MAX 16
#define LOG_READERS_MAX             32 /* of sandboxes, at once: each may hold megabytes */

/* ---- code interpreter ---- */
#define INTERPRETER_BODY_MAX                 (4 * 1024 * 1024) /* of a cell */
#define INTERPRETER_CONTEXTS_MAX             32                /* of one sandbox */
#define INTERPRETER_DRIVERS_MAX              1000 /* of all sandboxes: each has a descriptor */
#define INTERPRETER_QUEUE_MAX                64   /* cells of one context */
#define INTERPRETER_CELLS_MAX                1000 /* of all sandboxes */
#define INTERPRETER_CELLS_OF_BOX_MAX         200
#define INTERPRETER_WAITING_MAX_BYTES        (64 * 1024 * 1024) /* of their bodies */
#define INTERPRETER_WAITING_OF_BOX_MAX_BYTES (16 * 1024 * 1024)
#define INTERPRETER_INPUT_MAX                (8 * 1024 * 1024)   /* not yet taken by one program */
#define INTERPRETER_MESSAGES_MAX_BYTES       (128 * 1024 * 1024) /* begun and not ended, of all */
