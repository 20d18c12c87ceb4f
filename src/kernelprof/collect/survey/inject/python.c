/* Lines of Python, read from its frames through CPython's own functions, found in the process.
 *
 * No bytecode is run for it: whoever runs some takes the signals that are waiting, and Ctrl-C would
 * be raised, and lost, in here. PyTorch has released the interpreter's lock when it begins an
 * operator; a thread that Python does not know has no line, and does not take the lock. */
#define _GNU_SOURCE
#include "python.h"
#include "records.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MARK "kernelprof.line\x1f"
#define COMPILED "/torchinductor_"
static const char *const generated[] = {"<frozen", "<eval_with_key>"};

/* Another thread that runs Python may keep the lock for 5 ms at a time. */
static const uint64_t MOST_WAITING_NS = 250 * 1000 * 1000;
enum { MOST_FRAMES = 200 };

static struct {
    void *(*this_thread)(void);
    int (*take_lock)(void);
    void (*give_lock)(int);
    void *(*frame)(void *thread);
    void *(*caller)(void *frame);
    void *(*code)(void *frame);
    int (*line)(void *frame);
    void *(*attribute)(void *object, const char *name);
    const char *(*utf8)(void *text);
    void *(*error)(void);
    void (*clear_error)(void);
    int (*stop_collecting)(void);
    int (*collect)(void);
    void (*keep)(void *object);
    void (*release)(void *object);
    int (*later)(int (*function)(void *), void *argument);
    void *(*call)(void *function, void *arguments);
    int (*is_true)(void *object);
} python;

enum use { ALWAYS, FOR_LINES, OPTIONAL };
static const struct {
    const char *name;
    void *function;
    enum use use;
} functions[] = {
    {"PyGILState_GetThisThreadState", &python.this_thread, ALWAYS},
    {"PyGILState_Ensure", &python.take_lock, ALWAYS},
    {"PyGILState_Release", &python.give_lock, ALWAYS},
    {"PyThreadState_GetFrame", &python.frame, FOR_LINES}, /* from 3.9 on, as the next two */
    {"PyFrame_GetBack", &python.caller, FOR_LINES},
    {"PyFrame_GetCode", &python.code, FOR_LINES},
    {"PyFrame_GetLineNumber", &python.line, FOR_LINES},
    {"PyObject_GetAttrString", &python.attribute, ALWAYS},
    {"PyUnicode_AsUTF8", &python.utf8, ALWAYS},
    {"PyErr_Occurred", &python.error, ALWAYS},
    {"PyErr_Clear", &python.clear_error, ALWAYS},
    {"PyGC_Disable", &python.stop_collecting, OPTIONAL}, /* from 3.10 on, needed in 3.11 */
    {"PyGC_Enable", &python.collect, OPTIONAL},
    {"Py_IncRef", &python.keep, ALWAYS},
    {"Py_DecRef", &python.release, ALWAYS},
    {"Py_AddPendingCall", &python.later, ALWAYS},
    {"PyObject_CallObject", &python.call, ALWAYS},
    {"PyObject_IsTrue", &python.is_true, ALWAYS},
};

static char without[4 * PATH_MAX];
static atomic_int asking;
static atomic_ullong waited_ns;
static atomic_ullong enough;
static void *when_enough;

/* Runs in the main thread, between two steps of Python. */
static int call_when_enough(void *most) {
    void *result = python.call(when_enough, NULL);
    if (result == NULL || !python.is_true(result))
        atomic_store(&enough, (uintptr_t)most);
    if (result == NULL)
        return -1; /* raises what it raised, such as Ctrl-C */
    python.release(result);
    return 0;
}

/* For Python's part, which holds the interpreter's lock: lines are asked for from now on, but those
 * of files that begin with one of these, each of which ends with a newline. After so many ranges a
 * function is called, again and again until it returns what is true. */
__attribute__((visibility("default"))) int
kernelprof_name_lines(const char *files, unsigned long long most, void *function) {
    int lines = 1;
    for (size_t at = 0; at < sizeof functions / sizeof functions[0]; at++) {
        void *found = dlsym(RTLD_DEFAULT, functions[at].name);
        if (found == NULL && functions[at].use == ALWAYS)
            return 0;
        lines &= found != NULL || functions[at].use == OPTIONAL;
        memcpy(functions[at].function, &found, sizeof found);
    }
    snprintf(without, sizeof without, "%s", files);
    python.keep(function);
    when_enough = function;
    atomic_store(&enough, most);
    atomic_store(&asking, lines);
    return lines;
}

void after_operator(unsigned long long ranges, int within_another) {
    unsigned long long most = atomic_load_explicit(&enough, memory_order_relaxed);
    unsigned long long wanted = within_another ? 2 * most : most;
    if (ranges < wanted || most == 0 || !atomic_compare_exchange_strong(&enough, &most, 0))
        return;
    if (python.later(call_when_enough, (void *)(uintptr_t)most) != 0)
        atomic_store(&enough, most); /* too many calls wait already */
}

/* The program's own source, or that of a library which calls PyTorch. */
static int is_source(const char *file) {
    for (const char *each = without, *end; (end = strchr(each, '\n')) != NULL; each = end + 1)
        if (strncmp(file, each, (size_t)(end - each)) == 0)
            return 0;
    for (size_t at = 0; at < sizeof generated / sizeof generated[0]; at++)
        if (strncmp(file, generated[at], strlen(generated[at])) == 0)
            return 0;
    return strstr(file, COMPILED) == NULL;
}

/* The number of the text of a frame's line; 0 where it is none of the program's. */
static uint32_t line_of(void *frame) {
    void *code = python.code(frame);
    void *name = python.attribute(code, "co_filename");
    const char *file = name == NULL ? NULL : python.utf8(name);
    uint32_t found = 0;
    if (file == NULL)
        python.clear_error();
    else if (is_source(file)) {
        char text[PATH_MAX + 64];
        int length = snprintf(text, sizeof text, LINE_MARK "%s:%d", file, python.line(frame));
        if (length > 0 && (size_t)length < sizeof text)
            found = text_id(text, (size_t)length);
    }
    if (name != NULL)
        python.release(name);
    python.release(code);
    return found;
}

/* Of the innermost frame that is the program's. */
static uint32_t innermost_line(void *thread) {
    uint32_t found = 0;
    void *frame = python.frame(thread);
    for (int depth = 0; frame != NULL; depth++) {
        found = depth < MOST_FRAMES ? line_of(frame) : 0;
        void *inner = frame;
        frame = found || depth == MOST_FRAMES ? NULL : python.caller(inner);
        python.release(inner);
    }
    return found;
}

uint32_t python_line(void) {
    if (!atomic_load_explicit(&asking, memory_order_acquire))
        return 0;
    void *thread = python.this_thread();
    if (thread == NULL)
        return 0;
    uint64_t begin = now_ns();
    int lock = python.take_lock();
    uint64_t waited = now_ns() - begin;
    /* A frame may be made for it, and in 3.11 whatever is made may have garbage collected: by the
     * program's finalizers, here, where an operator begins. */
    int collects = python.stop_collecting && python.collect && python.stop_collecting();
    uint32_t found = python.error() == NULL ? innermost_line(thread) : 0;
    if (collects)
        python.collect();
    python.give_lock(lock);
    if (atomic_fetch_add(&waited_ns, waited) + waited > MOST_WAITING_NS)
        atomic_store(&asking, 0);
    return found;
}
