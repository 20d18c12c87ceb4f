/* The file of this process: frames, and the numbers of texts and configurations. */
#define _GNU_SOURCE
#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, PROGRAM_BYTES = 4096, FIRST_SLOTS = 1 << 12 };

struct entry {
    uint64_t hash;
    uint32_t id;
    uint32_t length;
    void *bytes;
};

/* A set of byte strings, each with a number from 1 on. */
struct numbers {
    struct entry *slots;
    size_t size;
    uint32_t count;
};

static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t number_lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_BYTES - 64];
static int file = -1;
static int failed; /* no file can be made or written: say nothing, and let the program run */
static struct numbers texts, configurations;

int recording(void) {
    return !failed && folder[0] != '\0';
}

uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t realtime_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint32_t thread_id(void) {
    return (uint32_t)syscall(SYS_gettid);
}

static void write_all(struct iovec *parts, int count) {
    while (count > 0) {
        ssize_t done = writev(file, parts, count);
        if (done < 0) {
            if (errno == EINTR)
                continue;
            failed = 1;
            return;
        }
        while (count > 0 && (size_t)done >= parts->iov_len) {
            done -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + done;
            parts->iov_len -= (size_t)done;
        }
    }
}

static void write_frame(enum frame_kind kind, uint32_t row_bytes, const void *rows, size_t bytes) {
    struct frame_head head = {FRAME_MARK, kind, row_bytes, (uint32_t)bytes};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)rows, bytes}};
    write_all(parts, 2);
}

/* The command line, so that a reader can tell processes apart. */
static size_t program_text(char *text, size_t room) {
    int source = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return 0;
    ssize_t length = read(source, text, room);
    close(source);
    while (length > 0 && text[length - 1] == '\0')
        length--;
    for (ssize_t at = 0; at < length; at++)
        if (text[at] == '\0')
            text[at] = '\n';
    return length > 0 ? (size_t)length : 0;
}

static void open_file(void) {
    char path[PATH_BYTES];
    /* A number is given to another process once the first has ended. */
    for (int again = 0; folder[0] && file < 0 && again < 1000; again++) {
        int length = snprintf(path, sizeof path, "%s/%d.%d.survey", folder, (int)getpid(), again);
        if (length < 0 || (size_t)length >= sizeof path)
            break;
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            break;
    }
    if (file < 0) {
        failed = 1;
        return;
    }
    char text[PROGRAM_BYTES + sizeof(uint32_t)];
    uint32_t none = 0; /* text 0 is the command line in the head's frame alone */
    memcpy(text, &none, sizeof none);
    size_t length = program_text(text + sizeof none, PROGRAM_BYTES);
    struct head_row row = {FORMAT, (uint32_t)getpid(), (uint32_t)getppid(), 0, now_ns(),
                           realtime_ns()};
    write_frame(HEAD, sizeof row, &row, sizeof row);
    write_frame(TEXT, 1, text, sizeof none + length);
}

void put(enum frame_kind kind, uint32_t row_bytes, const void *rows, size_t bytes) {
    if (bytes == 0)
        return;
    pthread_mutex_lock(&file_lock);
    if (file < 0 && !failed)
        open_file();
    if (file >= 0 && !failed)
        write_frame(kind, row_bytes, rows, bytes);
    pthread_mutex_unlock(&file_lock);
}

/* FNV-1a. */
static uint64_t hash_of(const void *bytes, size_t length) {
    const unsigned char *each = bytes;
    uint64_t hash = 14695981039346656037u;
    for (size_t at = 0; at < length; at++)
        hash = (hash ^ each[at]) * 1099511628211u;
    return hash;
}

static int grow(struct numbers *set) {
    size_t size = set->size ? 2 * set->size : FIRST_SLOTS;
    struct entry *slots = calloc(size, sizeof *slots);
    if (slots == NULL)
        return 0;
    for (size_t at = 0; at < set->size; at++) {
        if (set->slots[at].id == 0)
            continue;
        size_t to = set->slots[at].hash & (size - 1);
        while (slots[to].id != 0)
            to = (to + 1) & (size - 1);
        slots[to] = set->slots[at];
    }
    free(set->slots);
    set->slots = slots;
    set->size = size;
    return 1;
}

/* The number of a byte string; *is_new says whether it was not there. 0 where memory is out. */
static uint32_t number_of(struct numbers *set, const void *bytes, size_t length, int *is_new) {
    *is_new = 0;
    if (2 * (size_t)(set->count + 1) > set->size && !grow(set))
        return 0;
    uint64_t hash = hash_of(bytes, length);
    size_t at = hash & (set->size - 1);
    for (; set->slots[at].id != 0; at = (at + 1) & (set->size - 1)) {
        const struct entry *seen = &set->slots[at];
        if (seen->hash == hash && seen->length == length && !memcmp(seen->bytes, bytes, length))
            return seen->id;
    }
    void *copy = malloc(length ? length : 1);
    if (copy == NULL)
        return 0;
    memcpy(copy, bytes, length);
    set->slots[at] = (struct entry){hash, ++set->count, (uint32_t)length, copy};
    *is_new = 1;
    return set->count;
}

uint32_t text_id(const char *text, size_t length) {
    int is_new;
    if (text == NULL)
        return 0;
    pthread_mutex_lock(&number_lock);
    uint32_t id = number_of(&texts, text, length, &is_new);
    if (is_new) {
        char *row = malloc(sizeof id + length);
        if (row != NULL) {
            memcpy(row, &id, sizeof id);
            memcpy(row + sizeof id, text, length);
            put(TEXT, 1, row, sizeof id + length);
            free(row);
        }
    }
    pthread_mutex_unlock(&number_lock);
    return id;
}

uint32_t configuration_id(struct configuration_row *row) {
    int is_new;
    row->id = 0;
    pthread_mutex_lock(&number_lock);
    uint32_t id = number_of(&configurations, row, sizeof *row, &is_new);
    row->id = id;
    if (is_new)
        put(CONFIGURATION, sizeof *row, row, sizeof *row);
    pthread_mutex_unlock(&number_lock);
    return id;
}

uint32_t configuration_count(void) {
    pthread_mutex_lock(&number_lock);
    uint32_t count = configurations.count;
    pthread_mutex_unlock(&number_lock);
    return count;
}

static void before_fork(void) {
    pthread_mutex_lock(&number_lock);
    pthread_mutex_lock(&file_lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&file_lock);
    pthread_mutex_unlock(&number_lock);
}

/* The file and the numbers in it are the parent's: the child has its own, if it records at all. */
static void after_fork_in_child(void) {
    if (file >= 0)
        close(file);
    file = -1;
    texts = configurations = (struct numbers){0};
    forget_ranges();
    pthread_mutex_unlock(&file_lock);
    pthread_mutex_unlock(&number_lock);
}

__attribute__((constructor)) static void at_load(void) {
    /* Once: a program may change its environment while threads of ours read it. */
    const char *given = getenv("KERNELPROF_SURVEY_DIR");
    if (given != NULL && strlen(given) < sizeof folder)
        strcpy(folder, given);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
