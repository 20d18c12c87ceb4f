/* PM sampling of CUPTI: series of hardware counters, without serializing or repeating kernels; and
 * then PC sampling (stalls.c), to the end of the program.
 *
 * PM sampling is done in bursts: the GPU writes a sample in 20 us, decoding one takes up to five
 * times as long, and so does evaluating it, which is done during the next burst. Sets of counters
 * take turns, each with as many of its counters as the GPU counts at once. */
#define _GNU_SOURCE
#include "sampling.h"
#include "activity.h"
#include "records.h"
#include "stalls.h"

#include <cupti.h>

#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Part of a burst in which SMs work, from which its whole time counts for a visit. */
#define LEAST_BUSY 0.05

enum {
    INTERVAL = 20000,      /* ns, or cycles of the system clock where the GPU has no timer for it */
    BURST_MS = 5,          /* short, since the kernels of a step come one after the other */
    SAMPLES = 400,         /* that a burst has at most */
    BUFFER_BYTES = 72 << 20,
    MOST_METRICS = 64,
    EACH_IDLE = 8,         /* of idle samples, two of as many are evaluated */
    MOST_SETS = 5,
    MOST_DEVICES = 16,
    WAIT_S = 3,            /* for the last burst at the end */
    HOLD_MS = 2000,        /* that a process's first launch waits for a burst */
    FIRST_MS = 150,        /* that a set is sampled at first; changing it takes 200 ms */
    LATER_MS = 500,        /* that it is sampled each time later */
    SEEN_MS = 1250,        /* without a new kernel, after which PC sampling follows */
    MOST_MS = 8000,        /* after which it follows in any case */
};

#define SAMPLING_FUNCTIONS(X)                                                                      \
    X(cuptiSubscribe)                                                                              \
    X(cuptiEnableCallback)                                                                         \
    X(cuptiUnsubscribe)                                                                            \
    X(cuptiProfilerInitialize)                                                                     \
    X(cuptiDeviceGetChipName)                                                                      \
    X(cuptiPmSamplingGetCounterAvailability)                                                       \
    X(cuptiPmSamplingEnable)                                                                       \
    X(cuptiPmSamplingDisable)                                                                      \
    X(cuptiPmSamplingSetConfig)                                                                    \
    X(cuptiPmSamplingStart)                                                                        \
    X(cuptiPmSamplingStop)                                                                         \
    X(cuptiPmSamplingDecodeData)                                                                   \
    X(cuptiPmSamplingGetCounterDataSize)                                                           \
    X(cuptiPmSamplingCounterDataImageInitialize)                                                   \
    X(cuptiPmSamplingGetCounterDataInfo)                                                           \
    X(cuptiPmSamplingCounterDataGetSampleInfo)                                                     \
    X(cuptiProfilerHostInitialize)                                                                 \
    X(cuptiProfilerHostDeinitialize)                                                               \
    X(cuptiProfilerHostConfigAddMetrics)                                                           \
    X(cuptiProfilerHostGetConfigImageSize)                                                         \
    X(cuptiProfilerHostGetConfigImage)                                                             \
    X(cuptiProfilerHostGetNumOfPasses)                                                             \
    X(cuptiProfilerHostEvaluateToGpuValues)
#define MEMBER(name) __typeof__(&name) name;
static struct { SAMPLING_FUNCTIONS(MEMBER) } call;
#undef MEMBER

/* A parameter block of a function, zeroed but for its size. */
#define PARAMETERS(type, name) type##_Params name = {.structSize = type##_Params_STRUCT_SIZE}

struct metric_set {
    CUpti_Profiler_Host_Object *host;
    const char *names[MOST_METRICS];
    size_t count;
    uint8_t *config;
    size_t config_bytes;
    uint8_t *images[2]; /* of a burst, and of the one before that is evaluated meanwhile */
    size_t image_bytes;
};

struct burst {
    struct metric_set *set;
    uint8_t *image;
    uint64_t ahead;     /* how far the wall clock is before that of all times */
    double active;      /* nanoseconds in which the first counter, that of active SMs, counted */
    int works;
    int has_thread;
    pthread_t thread;
};

static struct metric_set sets[MOST_SETS];
static size_t set_count;
static CUpti_PmSampling_Object *sampler;
static size_t device;
static const char *wanted; /* a line for each counter, and an empty one between sets */
static pthread_t thread;
static int running, ended, released;
static CUpti_SubscriberHandle subscriber;
static pid_t owner; /* a child after fork has no such thread */

static int take(void *library) {
#define TAKE(name)                                                                                 \
    if ((call.name = (__typeof__(call.name))dlsym(library, #name)) == NULL)                        \
        return 0;
    SAMPLING_FUNCTIONS(TAKE)
#undef TAKE
    return 1;
}

/* CUPTI tears down at exit what it has made by then, in the order of atexit: this comes first. */
void end_before_cupti(void) { atexit(end_sampling); }

int is_ended(void) { return __atomic_load_n(&ended, __ATOMIC_ACQUIRE); }

static void pause_ms(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

void pause_until_ended(long milliseconds) {
    for (long passed = 0; passed < milliseconds && !is_ended(); passed++)
        pause_ms(1);
}

static int is_released(void) { return __atomic_load_n(&released, __ATOMIC_ACQUIRE); }

void *driver_function(const char *name) {
    void *own = dlsym(RTLD_DEFAULT, name);
    void *driver = own ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? dlsym(driver, name) : own;
}

/* Waits until the driver is ready; whether there is a GPU. */
static int wait_for_driver(void) {
    CUresult (*count)(int *) = (CUresult(*)(int *))driver_function("cuDeviceGetCount");
    int devices = 0;
    while (count != NULL && !is_ended() && count(&devices) != CUDA_SUCCESS)
        pause_ms(1);
    return devices > 0;
}

/* The first GPU that has the primary context of a program; -1: none has one, or cannot tell. */
static int find_context(void) {
    CUresult (*count)(int *) = (CUresult(*)(int *))driver_function("cuDeviceGetCount");
    CUresult (*state)(CUdevice, unsigned *, int *) = (CUresult(*)(CUdevice, unsigned *, int *))
        driver_function("cuDevicePrimaryCtxGetState");
    int devices = 0, active = 0;
    unsigned flags;
    if (count == NULL || state == NULL || count(&devices) != CUDA_SUCCESS)
        return -1;
    for (int each = 0; each < devices && each < MOST_DEVICES; each++)
        if (state(each, &flags, &active) == CUDA_SUCCESS && active)
            return each;
    return -1;
}

/* Kernels that run before the first burst may not come again. Only a primary context is sampled. */
static void CUPTIAPI hold_launch(void *nothing, CUpti_CallbackDomain domain,
                                 CUpti_CallbackId number, const void *data) {
    (void)nothing, (void)domain, (void)number;
    if (((const CUpti_CallbackData *)data)->callbackSite != CUPTI_API_ENTER || is_released())
        return;
    uint64_t until = now_ns() + HOLD_MS * 1000000ull;
    int is_sampled = find_context() >= 0;
    while (is_sampled && !is_released() && !is_ended() && now_ns() < until)
        pause_ms(1);
    __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
}

static void hold_launches(void) {
    if (call.cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)hold_launch, NULL) != CUPTI_SUCCESS)
        subscriber = NULL;
    for (CUpti_CallbackId each = 1; subscriber != NULL && each < MOST_CALLS; each++) {
        const char *name = NULL;
        cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, each, &name);
        if (name != NULL && strncmp(name, "cuLaunchHostFunc", 16) != 0 &&
            (strncmp(name, "cuLaunch", 8) == 0 || strncmp(name, "cuGraphLaunch", 13) == 0))
            call.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, each);
    }
}

static void release_launches(void) {
    __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
    if (subscriber != NULL)
        call.cuptiUnsubscribe(subscriber);
    subscriber = NULL;
}

/* As find_context, once there is one; -1 where the program ends before. */
static int wait_for_context(void) {
    int found = find_context();
    for (; found < 0 && !is_ended(); found = find_context()) {
        if (is_released())
            release_launches();
        pause_ms(1);
    }
    return found;
}

static CUpti_Profiler_Host_Object *new_host(const char *chip, const uint8_t *available) {
    PARAMETERS(CUpti_Profiler_Host_Initialize, made);
    made.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING;
    made.pChipName = chip;
    made.pCounterAvailabilityImage = available;
    return call.cuptiProfilerHostInitialize(&made) == CUPTI_SUCCESS ? made.pHostObject : NULL;
}

static void drop_host(CUpti_Profiler_Host_Object *host) {
    PARAMETERS(CUpti_Profiler_Host_Deinitialize, gone);
    gone.pHostObject = host;
    call.cuptiProfilerHostDeinitialize(&gone);
}

/* Whether the GPU counts all of the set at once; it is configured then. */
static int fits(struct metric_set *set, const char *chip, const uint8_t *available) {
    CUpti_Profiler_Host_Object *host = new_host(chip, available);
    if (host == NULL)
        return 0;
    PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics, add);
    add.pHostObject = host;
    add.ppMetricNames = set->names;
    add.numMetrics = set->count;
    PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize, size);
    size.pHostObject = host;
    uint8_t *config = NULL;
    if (call.cuptiProfilerHostConfigAddMetrics(&add) == CUPTI_SUCCESS &&
        call.cuptiProfilerHostGetConfigImageSize(&size) == CUPTI_SUCCESS &&
        (config = malloc(size.configImageSize)) != NULL) {
        PARAMETERS(CUpti_Profiler_Host_GetConfigImage, get);
        get.pHostObject = host;
        get.pConfigImage = config;
        get.configImageSize = size.configImageSize;
        PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses, passes);
        passes.pConfigImage = config;
        passes.configImageSize = size.configImageSize;
        if (call.cuptiProfilerHostGetConfigImage(&get) == CUPTI_SUCCESS &&
            call.cuptiProfilerHostGetNumOfPasses(&passes) == CUPTI_SUCCESS &&
            passes.numOfPasses == 1) {
            if (set->host != NULL)
                drop_host(set->host);
            free(set->config);
            set->host = host;
            set->config = config;
            set->config_bytes = size.configImageSize;
            return 1;
        }
    }
    free(config);
    drop_host(host);
    return 0;
}

/* Takes what the GPU can count beside what is taken already. A line has names of one counter: the
 * first of all lines go together on new GPUs, which spares trying one after the other. */
static void fill_set(struct metric_set *set, char *lines, const char *chip,
                     const uint8_t *available) {
    char *names[MOST_METRICS], *others[MOST_METRICS] = {NULL}, *rest = NULL;
    size_t count = 0;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL && count < MOST_METRICS;
         line = strtok_r(NULL, "\n", &rest))
        names[count++] = line;
    for (set->count = 0; set->count < count; set->count++)
        set->names[set->count] = strtok_r(names[set->count], " ", &others[set->count]);
    int taken = fits(set, chip, available);
    end_before_cupti();
    if (taken)
        return;
    set->count = 0;
    for (size_t at = 0; at < count && !is_ended(); at++) {
        taken = 0;
        for (char *name = names[at]; name != NULL && !taken;
             name = strtok_r(NULL, " ", &others[at])) {
            set->names[set->count++] = name;
            taken = fits(set, chip, available);
            if (!taken)
                set->count--;
            end_before_cupti();
        }
    }
}

/* Whether sets before have all counters of the next one. */
static int is_counted(void) {
    const struct metric_set *next = &sets[set_count];
    for (size_t at = 0; at < next->count; at++) {
        int counted = 0;
        for (size_t each = 0; each < set_count && !counted; each++)
            for (size_t other = 0; other < sets[each].count && !counted; other++)
                counted = strcmp(next->names[at], sets[each].names[other]) == 0;
        if (!counted)
            return 0;
    }
    return 1;
}

static void fill_sets(const char *chip, const uint8_t *available) {
    char *next = strdup(wanted); /* sets keep parts of it */
    for (set_count = 0; next != NULL && set_count < MOST_SETS && !is_ended();) {
        char *lines = next, *end = strstr(next, "\n\n");
        next = end ? end + 2 : NULL;
        if (end != NULL)
            *end = '\0';
        fill_set(&sets[set_count], lines, chip, available);
        if (!is_counted())
            set_count++;
    }
}

static int clear_image(const struct metric_set *set, uint8_t *image) {
    PARAMETERS(CUpti_PmSampling_CounterDataImage_Initialize, clear);
    clear.pPmSamplingObject = sampler;
    clear.counterDataSize = set->image_bytes;
    clear.pCounterData = image;
    return call.cuptiPmSamplingCounterDataImageInitialize(&clear) == CUPTI_SUCCESS;
}

static int configure(struct metric_set *set) {
    PARAMETERS(CUpti_PmSampling_SetConfig, to);
    to.pPmSamplingObject = sampler;
    to.configSize = set->config_bytes;
    to.pConfig = set->config;
    to.hardwareBufferSize = BUFFER_BYTES;
    to.samplingInterval = INTERVAL;
    to.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
    CUptiResult result = call.cuptiPmSamplingSetConfig(&to);
    if (result != CUPTI_SUCCESS) {
        to.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
        result = call.cuptiPmSamplingSetConfig(&to);
    }
    PARAMETERS(CUpti_PmSampling_GetCounterDataSize, size);
    size.pPmSamplingObject = sampler;
    size.pMetricNames = set->names;
    size.numMetrics = set->count;
    size.maxSamples = SAMPLES;
    if (result != CUPTI_SUCCESS ||
        call.cuptiPmSamplingGetCounterDataSize(&size) != CUPTI_SUCCESS)
        return 0;
    set->image_bytes = size.counterDataSize;
    for (int at = 0; at < 2; at++) {
        if (set->images[at] == NULL)
            set->images[at] = malloc(set->image_bytes);
        if (set->images[at] == NULL || !clear_image(set, set->images[at]))
            return 0;
    }
    return 1;
}

static void name_series(struct metric_set *set) {
    struct series_row rows[MOST_METRICS];
    for (uint32_t at = 0; at < set->count; at++)
        rows[at] = (struct series_row){(uint32_t)device, at,
                                       text_id(set->names[at], strlen(set->names[at])), 0};
    put(SERIES, sizeof rows[0], rows, set->count * sizeof rows[0]);
}

/* What the first `count` counters of a set are in a sample; whether they could be evaluated. */
static int evaluate(const struct burst *of, size_t sample, size_t count, double *values) {
    PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues, to);
    to.pHostObject = of->set->host;
    to.pCounterDataImage = of->image;
    to.counterDataImageSize = of->set->image_bytes;
    to.rangeIndex = sample;
    to.ppMetricNames = of->set->names;
    to.numMetrics = count;
    to.pMetricValues = values;
    return call.cuptiProfilerHostEvaluateToGpuValues(&to) == CUPTI_SUCCESS;
}

/* Writes the samples of a burst and clears its image. Some versions of CUPTI give samples in the
 * clock of the activity records, others in the wall clock. */
static void *write_burst(void *burst) {
    struct burst *of = burst;
    struct metric_set *set = of->set;
    of->works = 0;
    PARAMETERS(CUpti_PmSampling_GetCounterDataInfo, info);
    info.pCounterDataImage = of->image;
    info.counterDataImageSize = set->image_bytes;
    if (call.cuptiPmSamplingGetCounterDataInfo(&info) != CUPTI_SUCCESS)
        return NULL;
    size_t row_bytes = sizeof(struct sample_row) + set->count * sizeof(double), samples = 0;
    int idle = 0, has_work = 0;
    char *rows = malloc(info.numCompletedSamples * row_bytes + 1);
    if (rows == NULL)
        return NULL;
    for (size_t at = 0; at < info.numCompletedSamples; at++) {
        PARAMETERS(CUpti_PmSampling_CounterData_GetSampleInfo, when);
        when.pPmSamplingObject = sampler;
        when.pCounterDataImage = of->image;
        when.counterDataImageSize = set->image_bytes;
        when.sampleIndex = at;
        char *row = rows + samples * row_bytes;
        double values[MOST_METRICS];
        if (call.cuptiPmSamplingCounterDataGetSampleInfo(&when) != CUPTI_SUCCESS)
            continue;
        /* Most samples of many programs are idle, and what all counters are takes 0.05 ms. */
        idle = evaluate(of, at, 1, values) && values[0] == 0 ? idle + 1 : 0;
        has_work |= idle == 0;
        int is_left_out = idle % EACH_IDLE > 1;
        if (!is_left_out && !evaluate(of, at, set->count, values))
            continue;
        for (size_t left = 1; is_left_out && left < set->count; left++)
            values[left] = NAN;
        uint64_t late = when.startTimestamp > of->ahead ? of->ahead : 0;
        struct sample_row head = {when.startTimestamp - late, when.endTimestamp - late,
                                  (uint32_t)device, 0};
        /* The first of a burst begins when the one before ended. */
        if (values[0] > 0 && head.end - head.start < 10 * INTERVAL)
            of->active += (double)(head.end - head.start);
        memcpy(row, &head, sizeof head);
        memcpy(row + sizeof head, values, set->count * sizeof(double));
        samples++;
    }
    if (has_work) /* a program can prepare for minutes */
        put(SAMPLE, (uint32_t)row_bytes, rows, samples * row_bytes);
    free(rows);
    of->works = clear_image(set, of->image);
    return NULL;
}

/* The GPU has written samples, which are decoded. */
static int take_burst(struct burst *of) {
    PARAMETERS(CUpti_PmSampling_Start, start);
    start.pPmSamplingObject = sampler;
    if (call.cuptiPmSamplingStart(&start) != CUPTI_SUCCESS)
        return 0;
    release_launches();
    setpriority(PRIO_PROCESS, thread_id(), 19); /* the program's own threads come first */
    pause_until_ended(BURST_MS);
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    of->ahead = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec - now_ns();
    PARAMETERS(CUpti_PmSampling_Stop, stop);
    stop.pPmSamplingObject = sampler;
    PARAMETERS(CUpti_PmSampling_DecodeData, decode);
    decode.pPmSamplingObject = sampler;
    decode.pCounterDataImage = of->image;
    decode.counterDataImageSize = of->set->image_bytes;
    return call.cuptiPmSamplingStop(&stop) == CUPTI_SUCCESS &&
           call.cuptiPmSamplingDecodeData(&decode) == CUPTI_SUCCESS;
}

static void begin_writing(struct burst *of) {
    of->has_thread = pthread_create(&of->thread, NULL, write_burst, of) == 0;
    if (!of->has_thread)
        write_burst(of);
}

static void end_writing(struct burst *of) {
    if (of->has_thread)
        pthread_join(of->thread, NULL);
    of->has_thread = 0;
}

/* Chooses what a device is sampled for. */
static int prepare(size_t number) {
    device = number;
    PARAMETERS(CUpti_Profiler_Initialize, begin);
    PARAMETERS(CUpti_Device_GetChipName, chip);
    chip.deviceIndex = device;
    PARAMETERS(CUpti_PmSampling_GetCounterAvailability, available);
    available.deviceIndex = device;
    if (call.cuptiProfilerInitialize(&begin) != CUPTI_SUCCESS ||
        call.cuptiDeviceGetChipName(&chip) != CUPTI_SUCCESS ||
        call.cuptiPmSamplingGetCounterAvailability(&available) != CUPTI_SUCCESS)
        return 0;
    end_before_cupti();
    /* Hosts keep what they are given here: it lives as long as the process. */
    available.pCounterAvailabilityImage = malloc(available.counterAvailabilityImageSize);
    if (available.pCounterAvailabilityImage == NULL ||
        call.cuptiPmSamplingGetCounterAvailability(&available) != CUPTI_SUCCESS)
        return 0;
    fill_sets(chip.pChipName, available.pCounterAvailabilityImage);
    return set_count > 0;
}

static void stop_set(void) {
    PARAMETERS(CUpti_PmSampling_Disable, disable);
    disable.pPmSamplingObject = sampler;
    if (sampler != NULL)
        call.cuptiPmSamplingDisable(&disable);
    sampler = NULL;
    end_before_cupti();
}

static int start_set(struct metric_set *set) {
    PARAMETERS(CUpti_PmSampling_Enable, enable);
    enable.deviceIndex = device;
    if (call.cuptiPmSamplingEnable(&enable) != CUPTI_SUCCESS)
        return 0;
    sampler = enable.pPmSamplingObject;
    end_before_cupti();
    if (!configure(set))
        return 0;
    name_series(set);
    return 1;
}

/* Of the time in which SMs work: how long PM sampling goes on, and since when no kernel was new. */
static struct {
    uint64_t until;
    double milliseconds, without_new;
    double busy; /* of the last burst, 0 to 1 */
    uint32_t configurations;
} progress;

/* Adds the time until now. It counts less the less the SMs work: the program may only load what it
 * runs later. */
static void go_on(const struct burst *last) {
    uint64_t now = now_ns();
    double busy = last->active / (1e6 * BURST_MS * LEAST_BUSY);
    if (last->set != NULL)
        progress.busy = busy < 1 ? busy : 1;
    double passed = (double)(now - progress.until) / 1e6 * progress.busy;
    uint32_t configurations = configuration_count();
    int is_new = configurations != progress.configurations;
    progress.until = now;
    progress.configurations = configurations;
    progress.milliseconds += passed;
    progress.without_new = is_new ? 0 : progress.without_new + passed;
}

static int is_done(void) {
    return is_ended() || progress.without_new > SEEN_MS || progress.milliseconds > MOST_MS;
}

/* Samples for so much time; whether it can go on. */
static int sample_set(struct metric_set *set, double milliseconds) {
    struct burst bursts[2] = {{.works = 1}, {.works = 1}};
    int works = 1;
    double until = progress.milliseconds + milliseconds;
    for (int at = 0; works && !is_done() && progress.milliseconds < until; at = !at) {
        struct burst *now = &bursts[at], *last = &bursts[!at];
        *now = (struct burst){.set = set, .image = set->images[at]};
        works = take_burst(now);
        end_writing(last);
        go_on(last);
        works = works && last->works;
        if (works)
            begin_writing(now);
    }
    end_writing(&bursts[0]);
    end_writing(&bursts[1]);
    return works;
}

static void sample(void) {
    /* While the program makes its context: it takes as long. */
    int prepared = wait_for_driver() && prepare(0);
    int first = wait_for_context();
    if (first < 0)
        return;
    if (first != 0)
        prepared = prepare((size_t)first);
    /* A kernel can run for half a second and not again: the first set decides most. */
    size_t turns[2 * MOST_SETS] = {0}, count = 1;
    for (size_t at = 1; prepared && at < set_count; at++) {
        if (at > 1)
            count++;
        turns[count++] = at;
    }
    /* There and back: of what follows itself, no set is changed. */
    struct metric_set *now = NULL;
    int works = prepared;
    for (size_t turn = 0; works && !is_done(); turn++) {
        size_t at = turn % count;
        struct metric_set *next = &sets[turns[turn / count % 2 == 1 ? count - 1 - at : at]];
        if (next != now) {
            stop_set();
            works = start_set(next);
        }
        now = next;
        works = works && sample_set(now, turn < count ? FIRST_MS : LATER_MS);
    }
    stop_set();
    if (works && !is_ended())
        sample_stalls(device);
}

static void *keep_sampling(void *nothing) {
    sample();
    release_launches();
    return nothing;
}

void begin_sampling(void *library) {
    const char *names = getenv("KERNELPROF_SURVEY_SERIES");
    if (names == NULL || *names == '\0' || !take(library) || !take_stalls(library) ||
        (wanted = strdup(names)) == NULL)
        return;
    owner = getpid();
    hold_launches();
    running = pthread_create(&thread, NULL, keep_sampling, NULL) == 0;
    if (!running)
        release_launches();
}

void end_sampling(void) {
    if (!running || getpid() != owner)
        return;
    running = 0;
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    pthread_timedjoin_np(thread, NULL, &until);
}

#else /* CUPTI before CUDA 12.6 */
void begin_sampling(void *library) { (void)library; }
void end_sampling(void) {}
#endif
