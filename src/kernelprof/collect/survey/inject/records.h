/* The file that a surveyed process writes, and what writes to it.
 *
 * A file is a row of frames: a head of 16 bytes, and rows of one kind below it. A process that is
 * killed leaves whole frames, and perhaps a part of one, which readers leave out. All numbers are
 * little-endian, times are nanoseconds of one clock, and texts are numbered from 1; 0 is no text.
 * The layout of rows is that of reader.py; a change of one is a change of FORMAT in both. */
#ifndef KERNELPROF_SURVEY_RECORDS_H
#define KERNELPROF_SURVEY_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum { FORMAT = 1, FRAME_MARK = 0x5056504b /* "KPVP" */ };

enum frame_kind {
    HEAD = 1,
    TEXT = 2,
    CONFIGURATION = 3,
    KERNEL = 4,
    TRANSFER = 5,
    API = 6,
    DEVICE = 7,
    OVERHEAD = 8,
    GRAPH = 9,
    RANGE = 10,
    END = 11,
    MEMORY = 12,
    SERIES = 13,
    SAMPLE = 14,
    STALL = 15,
};

struct frame_head {
    uint32_t mark;
    uint32_t kind;
    uint32_t row_bytes;
    uint32_t bytes;
};

struct head_row {
    uint32_t format;
    uint32_t process;
    uint32_t parent;
    uint32_t program; /* text: its command line, words apart by newlines */
    uint64_t now;     /* in the clock of all other times */
    uint64_t realtime;
};

struct configuration_row {
    uint32_t id;
    uint32_t name; /* text: mangled */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t static_shared;
    uint32_t dynamic_shared;
    uint32_t registers;
    uint32_t local; /* bytes a thread */
    uint32_t cluster[3];
    uint32_t unused;
};

struct kernel_row {
    uint64_t start;
    uint64_t end;
    uint32_t correlation;
    uint32_t configuration;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t graph;
    uint64_t node;
};

/* A copy, or with kind 255 a memset. */
struct transfer_row {
    uint64_t start;
    uint64_t end;
    uint64_t bytes;
    uint32_t correlation;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t graph;
    uint32_t to_device;
    uint8_t kind; /* CUpti_ActivityMemcpyKind */
    uint8_t from; /* CUpti_ActivityMemoryKind */
    uint8_t to;
    uint8_t asynchronous;
    uint32_t unused;
};

struct api_row {
    uint64_t start;
    uint64_t end;
    uint32_t thread;
    uint32_t correlation;
    uint32_t name; /* text */
    uint32_t result;
};

struct device_row {
    uint32_t id;
    uint32_t name; /* text */
    uint32_t major;
    uint32_t minor;
    uint32_t multiprocessors;
    uint32_t unused;
    uint64_t memory; /* bytes */
};

struct overhead_row {
    uint64_t start;
    uint64_t end;
    uint32_t kind; /* CUpti_ActivityOverheadKind */
    uint32_t unused;
};

/* A whole graph, where its nodes are not recorded. */
struct graph_row {
    uint64_t start;
    uint64_t end;
    uint32_t correlation;
    uint32_t graph;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t unused;
};

enum range_event { PUSH = 1, POP = 2, START = 3, STOP = 4, MARK = 5 };

struct range_row {
    uint64_t time;
    uint32_t thread;
    uint32_t what;
    uint32_t name;   /* text; 0 for POP and STOP */
    uint32_t domain; /* text; 0 for the default one */
    uint64_t id;     /* of START and STOP; PyTorch's sequence number + 1 of PUSH, 0 for none */
};

/* Memory that is allocated (what 1) or released (what 2). */
struct memory_row {
    uint64_t time;
    uint64_t bytes;
    uint64_t address;
    uint32_t what;
    uint32_t kind; /* CUpti_ActivityMemoryKind */
    uint32_t device;
    uint32_t context;
};

/* Metric number `at` of those that a GPU is sampled for. */
struct series_row {
    uint32_t device;
    uint32_t at;
    uint32_t name; /* text */
    uint32_t unused;
};

/* A sample of a GPU; the values of its metrics follow, as doubles. */
struct sample_row {
    uint64_t start;
    uint64_t end;
    uint32_t device;
    uint32_t unused;
};

/* Samples of warps that were in a state at an instruction. */
struct stall_row {
    uint64_t cubin;    /* CUPTI's checksum */
    uint64_t offset;   /* of the instruction in its function */
    uint32_t function; /* text */
    uint32_t state;    /* text */
    uint32_t samples;
    uint32_t device;
};

struct end_row {
    uint64_t now;
    uint64_t dropped; /* records that CUPTI had no room for */
};

/* Appends rows to this process's file, which is made at the first of them. */
void put(enum frame_kind kind, uint32_t row_bytes, const void *rows, size_t bytes);

/* The number of a text; the same text has the same number. */
uint32_t text_id(const char *text, size_t length);

/* The number of a launch configuration, whose `id` is filled in. */
uint32_t configuration_id(struct configuration_row *row);

/* How many have been given. */
uint32_t configuration_count(void);

/* Whether there is a place to write to. */
int recording(void);

/* Nanoseconds of the clock of all times. */
uint64_t now_ns(void);

/* The number of this thread as the kernel has it. */
uint32_t thread_id(void);

/* Writes the ranges that threads hold back. */
void put_ranges(void);

/* In a child right after fork: what the threads of the parent hold is the parent's. */
void forget_ranges(void);

#endif
