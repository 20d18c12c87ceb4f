/* NVTX ranges of the program, heard without CUPTI: NVTX looks in this library for a function that
 * takes its table of callbacks (nvtx3/nvtxDetail/nvtxTypes.h, whose layout is fixed). */
#define _GNU_SOURCE
#include "python.h"
#include "records.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { ROWS = 1024, WIDE_BYTES = 1024, DEPTHS = 256 };
enum { TABLES = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { ASCII = 1, UNICODE = 2, REGISTERED = 3 };

/* What one thread has not written yet; whoever writes it takes the lock. */
struct held {
    pthread_mutex_t lock;
    struct held *next;
    size_t count;
    uint32_t thread;
    uint32_t depth;
    uint32_t recorded;          /* open ranges of PyTorch */
    uint32_t operator;          /* depth of the outermost open operator, from 1 on; 0 for none */
    uint32_t line;              /* whether a range of its line is around it */
    uint8_t is_recorded[DEPTHS];
    struct range_row rows[ROWS];
};

struct attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

/* A domain or a registered string: what NVTX hands back to us is a pointer to it. */
struct named {
    uint32_t name;
};

struct callbacks {
    size_t size;
    int (*table_of)(int module, void (****table)(void), unsigned *size);
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct held *threads;
static _Thread_local struct held *mine;
static atomic_ullong next_range = 1;
static atomic_ullong pushed;

static struct held *held(void) {
    if (mine == NULL) {
        struct held *fresh = calloc(1, sizeof *fresh);
        if (fresh == NULL)
            return NULL;
        pthread_mutex_init(&fresh->lock, NULL);
        fresh->thread = thread_id();
        pthread_mutex_lock(&list_lock);
        fresh->next = threads;
        threads = fresh;
        pthread_mutex_unlock(&list_lock);
        mine = fresh;
    }
    return mine;
}

static void write_held(struct held *from) {
    put(RANGE, sizeof from->rows[0], from->rows, from->count * sizeof from->rows[0]);
    from->count = 0;
}

static void note(uint32_t what, uint32_t name, uint32_t domain, uint64_t id) {
    struct held *to = held();
    if (to == NULL || !recording())
        return;
    pthread_mutex_lock(&to->lock);
    to->rows[to->count++] = (struct range_row){now_ns(), to->thread, what, name, domain, id};
    if (to->count == ROWS)
        write_held(to);
    pthread_mutex_unlock(&to->lock);
}

void put_ranges(void) {
    pthread_mutex_lock(&list_lock);
    for (struct held *each = threads; each != NULL; each = each->next) {
        pthread_mutex_lock(&each->lock);
        write_held(each);
        pthread_mutex_unlock(&each->lock);
    }
    pthread_mutex_unlock(&list_lock);
}

void forget_ranges(void) {
    pthread_mutex_init(&list_lock, NULL);
    threads = NULL;
    mine = NULL;
}

/* PyTorch says "aten::mm, seq = 5, op_id = 7": the number ties a backward operator to the forward
 * one, and as a part of the name it would make every name another. */
static uint32_t push_name(const char *text, uint64_t *sequence) {
    *sequence = 0;
    if (text == NULL)
        return 0;
    const char *found = strstr(text, ", seq = ");
    const char *end = found ? found : strstr(text, ", op_id = ");
    if (found != NULL)
        *sequence = strtoull(found + sizeof ", seq = " - 1, NULL, 10) + 1;
    return text_id(text, end ? (size_t)(end - text) : strlen(text));
}

static uint32_t wide_name(const wchar_t *text) {
    char narrow[WIDE_BYTES];
    size_t at = 0;
    for (; text != NULL && *text && at + 1 < sizeof narrow; text++)
        narrow[at++] = *text < 128 ? (char)*text : '?';
    return text == NULL ? 0 : text_id(narrow, at);
}

static uint32_t message_name(const struct attributes *given, uint64_t *sequence) {
    *sequence = 0;
    if (given == NULL || given->message == NULL)
        return 0;
    switch (given->message_type) {
    case ASCII:
        return push_name(given->message, sequence);
    case UNICODE:
        return wide_name(given->message);
    case REGISTERED:
        return ((const struct named *)given->message)->name;
    default:
        return 0;
    }
}

static uint32_t name_of(const void *handle) {
    return handle == NULL ? 0 : ((const struct named *)handle)->name;
}

static int push(uint32_t name, uint32_t domain, uint64_t sequence) {
    struct held *to = held();
    atomic_fetch_add_explicit(&pushed, 1, memory_order_relaxed);
    note(PUSH, name, domain, sequence);
    return to == NULL ? -2 : (int)to->depth++;
}

static void end_operator(struct held *to) {
    if (to->operator == to->depth) {
        if (to->line)
            note(POP, 0, 0, 0);
        to->operator = 0;
    }
    if (to->depth <= DEPTHS && to->is_recorded[to->depth - 1]) {
        to->is_recorded[to->depth - 1] = 0;
        to->recorded--;
        after_operator(atomic_load_explicit(&pushed, memory_order_relaxed), to->recorded > 0);
    }
}

static int pop(uint32_t domain) {
    struct held *to = held();
    note(POP, 0, domain, 0);
    if (to == NULL || to->depth == 0)
        return -2;
    end_operator(to);
    return (int)--to->depth;
}

/* For Python's part: how many ranges were pushed so far, and whether this thread is within anything
 * that PyTorch records. */
__attribute__((visibility("default"))) unsigned long long kernelprof_pushed(void) {
    return atomic_load_explicit(&pushed, memory_order_relaxed);
}
__attribute__((visibility("default"))) int kernelprof_within_operator(void) {
    struct held *to = held();
    return to != NULL && to->recorded > 0;
}

static uint64_t start(uint32_t name, uint32_t domain) {
    uint64_t id = atomic_fetch_add(&next_range, 1);
    note(START, name, domain, id);
    return id;
}

/* PyTorch's operators, of which what is called backward has no line of its own. */
static int is_operator(const char *text) {
    return strstr(text, "::") != NULL || strncmp(text, "Optimizer.", strlen("Optimizer.")) == 0;
}
static int is_backward(const char *text) {
    return strncmp(text, "autograd::", strlen("autograd::")) == 0;
}

/* Notes what PyTorch records, and puts a range of the line around its outermost operator. */
static void begin_operator(const char *text) {
    struct held *to = held();
    if (to == NULL || to->depth >= DEPTHS || text == NULL || strstr(text, ", op_id = ") == NULL)
        return;
    int outermost = !to->operator && is_operator(text);
    uint32_t line = outermost && !is_backward(text) ? python_line() : 0;
    to->is_recorded[to->depth] = 1;
    to->recorded++;
    if (!outermost)
        return;
    to->operator = to->depth + 1;
    to->line = line;
    if (line)
        note(PUSH, to->line, 0, 0);
}

static int push_text(const char *text) {
    uint64_t sequence;
    begin_operator(text);
    uint32_t name = push_name(text, &sequence);
    return push(name, 0, sequence);
}
static int push_wide(const wchar_t *text) { return push(wide_name(text), 0, 0); }
static int push_attributes(const struct attributes *given) {
    uint64_t sequence;
    uint32_t name = message_name(given, &sequence);
    return push(name, 0, sequence);
}
static int pop_default(void) { return pop(0); }
static uint64_t start_text(const char *text) {
    uint64_t sequence;
    return start(push_name(text, &sequence), 0);
}
static uint64_t start_wide(const wchar_t *text) { return start(wide_name(text), 0); }
static uint64_t start_attributes(const struct attributes *given) {
    uint64_t sequence;
    return start(message_name(given, &sequence), 0);
}
static void stop(uint64_t id) { note(STOP, 0, 0, id); }
static int domain_push(void *domain, const struct attributes *given) {
    uint64_t sequence;
    uint32_t name = message_name(given, &sequence);
    return push(name, name_of(domain), sequence);
}
static int domain_pop(void *domain) { return pop(name_of(domain)); }
static uint64_t domain_start(void *domain, const struct attributes *given) {
    uint64_t sequence;
    return start(message_name(given, &sequence), name_of(domain));
}
static void domain_stop(void *domain, uint64_t id) {
    (void)domain;
    stop(id);
}

static void *named_as(uint32_t name) {
    struct named *made = malloc(sizeof *made);
    if (made != NULL)
        made->name = name;
    return made;
}
static void *create_domain(const char *name) {
    return named_as(text_id(name, name ? strlen(name) : 0));
}
static void *create_wide_domain(const wchar_t *name) { return named_as(wide_name(name)); }
static void *register_text(void *domain, const char *text) {
    (void)domain;
    return create_domain(text);
}
static void *register_wide(void *domain, const wchar_t *text) {
    (void)domain;
    return create_wide_domain(text);
}

struct handler {
    unsigned number;
    void (*function)(void);
};

#define HANDLER(number, function) {number, (void (*)(void))(function)}
static const struct handler core[] = {
    HANDLER(4, start_attributes), HANDLER(5, start_text),  HANDLER(6, start_wide),
    HANDLER(7, stop),             HANDLER(8, push_attributes), HANDLER(9, push_text),
    HANDLER(10, push_wide),       HANDLER(11, pop_default),
};
static const struct handler core2[] = {
    HANDLER(2, domain_start),   HANDLER(3, domain_stop),    HANDLER(4, domain_push),
    HANDLER(5, domain_pop),     HANDLER(10, register_text), HANDLER(11, register_wide),
    HANDLER(12, create_domain), HANDLER(13, create_wide_domain),
};

static void install(const struct callbacks *from, int module, const struct handler *handlers,
                    size_t count) {
    void (***table)(void) = NULL;
    unsigned size = 0;
    if (!from->table_of(module, &table, &size) || table == NULL)
        return;
    for (size_t at = 0; at < count; at++)
        if (handlers[at].number < size && table[handlers[at].number] != NULL)
            *table[handlers[at].number] = handlers[at].function;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
    const struct callbacks *from = export_table(TABLES);
    if (from == NULL || from->size < sizeof *from || from->table_of == NULL || !recording())
        return 0;
    install(from, MODULE_CORE, core, sizeof core / sizeof core[0]);
    install(from, MODULE_CORE2, core2, sizeof core2 / sizeof core2[0]);
    return 1;
}
