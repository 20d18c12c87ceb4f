/* PM sampling of CUPTI: series of hardware counters, without serializing or repeating kernels; and
 * then PC sampling: what warps wait for, to the end of the program.
 *
 * PM sampling is done in bursts: the GPU writes a sample in 20 us, and decoding one takes ten times
 * as long. Sets of counters take turns, each with as many of its counters as the GPU counts at
 * once. PC sampling comes last because it does not end: cuptiPCSamplingDisable waits for locks that
 * a launching thread holds while it waits for CUPTI, and beside PM sampling it gives nothing. */
#define _GNU_SOURCE
#include "sampling.h"
#include "activity.h"
#include "records.h"

#include <cupti.h>

#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pcsampling.h>
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
    MOST_SETS = 4,
    MOST_DEVICES = 16,
    WAIT_S = 3,            /* for the last burst at the end */
    HOLD_MS = 2000,        /* that a process's first launch waits for a burst */
    FIRST_MS = 150,        /* of its own time that a set is sampled; changing it takes 200 ms */
    LAST_MS = 1900,        /* that the first set, which has most counters, is sampled once more */
    STALL_PERIOD = 18,     /* 2^18 cycles: a million samples a second of a GPU with 132 SMs */
    STALL_BYTES = 256 << 20, /* that the GPU has room for, half a minute of samples */
    STALL_PCS = 8192,      /* instructions that are read at once */
    MOST_STALLS = 64,
    STALL_READ_MS = 200,   /* pause before the first reading; each is longer than the last */
    STALL_PAUSE_MS = 3000,
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
    X(cuptiProfilerHostEvaluateToGpuValues)                                                        \
    X(cuptiPCSamplingEnable)                                                                       \
    X(cuptiPCSamplingSetConfigurationAttribute)                                                    \
    X(cuptiPCSamplingGetNumStallReasons)                                                           \
    X(cuptiPCSamplingGetStallReasons)                                                              \
    X(cuptiPCSamplingGetData)
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
    uint8_t *image;
    size_t image_bytes;
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
static void end_before_cupti(void) { atexit(end_sampling); }

static int is_ended(void) { return __atomic_load_n(&ended, __ATOMIC_ACQUIRE); }

static void pause_ms(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

static void pause_until_ended(long milliseconds) {
    for (long passed = 0; passed < milliseconds && !is_ended(); passed++)
        pause_ms(1);
}

static int is_released(void) { return __atomic_load_n(&released, __ATOMIC_ACQUIRE); }

static void *driver_function(const char *name) {
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
    return set->image != NULL || (set->image = malloc(set->image_bytes)) != NULL;
}

static int clear_image(struct metric_set *set) {
    PARAMETERS(CUpti_PmSampling_CounterDataImage_Initialize, clear);
    clear.pPmSamplingObject = sampler;
    clear.counterDataSize = set->image_bytes;
    clear.pCounterData = set->image;
    return call.cuptiPmSamplingCounterDataImageInitialize(&clear) == CUPTI_SUCCESS;
}

static void name_series(struct metric_set *set) {
    struct series_row rows[MOST_METRICS];
    for (uint32_t at = 0; at < set->count; at++)
        rows[at] = (struct series_row){(uint32_t)device, at,
                                       text_id(set->names[at], strlen(set->names[at])), 0};
    put(SERIES, sizeof rows[0], rows, set->count * sizeof rows[0]);
}

/* What the first `count` counters of a set are in a sample; whether they could be evaluated. */
static int evaluate(struct metric_set *set, size_t sample, size_t count, double *values) {
    PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues, to);
    to.pHostObject = set->host;
    to.pCounterDataImage = set->image;
    to.counterDataImageSize = set->image_bytes;
    to.rangeIndex = sample;
    to.ppMetricNames = set->names;
    to.numMetrics = count;
    to.pMetricValues = values;
    return call.cuptiProfilerHostEvaluateToGpuValues(&to) == CUPTI_SUCCESS;
}

/* Decodes and writes a burst, and adds to `active` the nanoseconds in which the first counter, that
 * of active SMs, counted. `ahead` is how far the wall clock is before that of all times: some
 * versions of CUPTI give samples in the clock of the activity records, others in the wall clock. */
static int write_burst(struct metric_set *set, uint64_t ahead, double *active) {
    PARAMETERS(CUpti_PmSampling_DecodeData, decode);
    decode.pPmSamplingObject = sampler;
    decode.pCounterDataImage = set->image;
    decode.counterDataImageSize = set->image_bytes;
    if (call.cuptiPmSamplingDecodeData(&decode) != CUPTI_SUCCESS)
        return 0;
    PARAMETERS(CUpti_PmSampling_GetCounterDataInfo, info);
    info.pCounterDataImage = set->image;
    info.counterDataImageSize = set->image_bytes;
    if (call.cuptiPmSamplingGetCounterDataInfo(&info) != CUPTI_SUCCESS)
        return 0;
    size_t row_bytes = sizeof(struct sample_row) + set->count * sizeof(double), samples = 0;
    int idle = 0, has_work = 0;
    char *rows = malloc(info.numCompletedSamples * row_bytes + 1);
    if (rows == NULL)
        return 0;
    for (size_t at = 0; at < info.numCompletedSamples; at++) {
        PARAMETERS(CUpti_PmSampling_CounterData_GetSampleInfo, when);
        when.pPmSamplingObject = sampler;
        when.pCounterDataImage = set->image;
        when.counterDataImageSize = set->image_bytes;
        when.sampleIndex = at;
        char *row = rows + samples * row_bytes;
        double values[MOST_METRICS];
        if (call.cuptiPmSamplingCounterDataGetSampleInfo(&when) != CUPTI_SUCCESS)
            continue;
        /* Most samples of many programs are idle, and what all counters are takes 0.2 ms. */
        idle = evaluate(set, at, 1, values) && values[0] == 0 ? idle + 1 : 0;
        has_work |= idle == 0;
        int is_left_out = idle % EACH_IDLE > 1;
        if (!is_left_out && !evaluate(set, at, set->count, values))
            continue;
        for (size_t left = 1; is_left_out && left < set->count; left++)
            values[left] = NAN;
        uint64_t late = when.startTimestamp > ahead ? ahead : 0;
        struct sample_row head = {when.startTimestamp - late, when.endTimestamp - late,
                                  (uint32_t)device, 0};
        /* The first of a burst begins when the one before ended. */
        if (values[0] > 0 && head.end - head.start < 10 * INTERVAL)
            *active += (double)(head.end - head.start);
        memcpy(row, &head, sizeof head);
        memcpy(row + sizeof head, values, set->count * sizeof(double));
        samples++;
    }
    if (has_work) /* a program can prepare for minutes */
        put(SAMPLE, (uint32_t)row_bytes, rows, samples * row_bytes);
    free(rows);
    return 1;
}

static int burst(struct metric_set *set, double *active) {
    if (!clear_image(set))
        return 0;
    PARAMETERS(CUpti_PmSampling_Start, start);
    start.pPmSamplingObject = sampler;
    if (call.cuptiPmSamplingStart(&start) != CUPTI_SUCCESS)
        return 0;
    release_launches();
    setpriority(PRIO_PROCESS, thread_id(), 19); /* the program's own threads come first */
    pause_until_ended(BURST_MS);
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    uint64_t ahead = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec - now_ns();
    PARAMETERS(CUpti_PmSampling_Stop, stop);
    stop.pPmSamplingObject = sampler;
    if (call.cuptiPmSamplingStop(&stop) != CUPTI_SUCCESS)
        return 0;
    return write_burst(set, ahead, active);
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

/* Samples for a set until that has taken so much time, with pauses as long as the bursts if they are
 * to be `spread`; whether that can go on. */
static int visit(struct metric_set *set, double milliseconds, int spread) {
    PARAMETERS(CUpti_PmSampling_Enable, enable);
    enable.deviceIndex = device;
    if (call.cuptiPmSamplingEnable(&enable) != CUPTI_SUCCESS)
        return 0;
    sampler = enable.pPmSamplingObject;
    end_before_cupti();
    int works = configure(set);
    if (works)
        name_series(set);
    for (double spent = 0; works && !is_ended() && spent < 1e6 * milliseconds;) {
        double active = 0;
        uint64_t begin = now_ns();
        works = burst(set, &active);
        double took = (double)(now_ns() - begin);
        /* Time counts less the less the SMs work: the program may only load what it runs later. */
        double busy = active / (1e6 * BURST_MS * LEAST_BUSY);
        spent += took * (busy < 1 ? busy : 1);
        if (spread)
            pause_until_ended((long)(took / 1e6));
    }
    PARAMETERS(CUpti_PmSampling_Disable, disable);
    disable.pPmSamplingObject = sampler;
    call.cuptiPmSamplingDisable(&disable);
    end_before_cupti();
    return works;
}

static CUpti_PCSamplingData *new_stall_data(size_t reasons) {
    CUpti_PCSamplingData *data = calloc(1, sizeof *data);
    CUpti_PCSamplingPCData *each = calloc(STALL_PCS, sizeof *each);
    CUpti_PCSamplingStallReason *counts = calloc(STALL_PCS * reasons, sizeof *counts);
    if (data == NULL || each == NULL || counts == NULL)
        return NULL;
    data->size = sizeof *data;
    data->collectNumPcs = STALL_PCS;
    data->pPcData = each;
    for (size_t at = 0; at < STALL_PCS; at++) {
        each[at].size = sizeof *each;
        each[at].stallReason = counts + at * reasons;
    }
    return data;
}

/* PC sampling of a context has begun: its data, and the texts of its stall reasons. */
static CUpti_PCSamplingData *begin_stalls(CUcontext context, uint32_t *texts) {
    CUpti_PCSamplingEnableParams enable = {CUpti_PCSamplingEnableParamsSize, NULL, context};
    size_t reasons = 0;
    CUpti_PCSamplingGetNumStallReasonsParams number = {
        CUpti_PCSamplingGetNumStallReasonsParamsSize, NULL, context, &reasons};
    if (call.cuptiPCSamplingEnable(&enable) != CUPTI_SUCCESS ||
        call.cuptiPCSamplingGetNumStallReasons(&number) != CUPTI_SUCCESS || reasons == 0 ||
        reasons > MOST_STALLS)
        return NULL;
    uint32_t indices[MOST_STALLS];
    char names[MOST_STALLS][CUPTI_STALL_REASON_STRING_SIZE], *pointers[MOST_STALLS];
    for (size_t at = 0; at < reasons; at++)
        pointers[at] = names[at];
    CUpti_PCSamplingGetStallReasonsParams name = {
        CUpti_PCSamplingGetStallReasonsParamsSize, NULL, context, reasons, indices, pointers};
    if (call.cuptiPCSamplingGetStallReasons(&name) != CUPTI_SUCCESS)
        return NULL;
    for (size_t at = 0; at < reasons; at++)
        if (indices[at] < MOST_STALLS)
            texts[indices[at]] = text_id(names[at], strlen(names[at]));
    CUpti_PCSamplingData *rest = new_stall_data(reasons), *data = new_stall_data(reasons);
    if (rest == NULL || data == NULL)
        return NULL;
    CUpti_PCSamplingConfigurationInfo to[4] = {
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER},
    };
    to[0].attributeData.samplingPeriodData.samplingPeriod = STALL_PERIOD;
    to[1].attributeData.stallReasonData.stallReasonCount = reasons;
    to[1].attributeData.stallReasonData.pStallReasonIndex = indices;
    to[2].attributeData.hardwareBufferSizeData.hardwareBufferSize = STALL_BYTES;
    to[3].attributeData.samplingDataBufferData.samplingDataBuffer = rest;
    CUpti_PCSamplingConfigurationInfoParams all = {CUpti_PCSamplingConfigurationInfoParamsSize,
                                                   NULL, context, 4, to};
    return call.cuptiPCSamplingSetConfigurationAttribute(&all) == CUPTI_SUCCESS ? data : NULL;
}

static int write_stalls(CUcontext context, CUpti_PCSamplingData *data, const uint32_t *texts) {
    CUpti_PCSamplingGetDataParams get = {CUpti_PCSamplingGetDataParamsSize, NULL, context, data};
    struct stall_row rows[MOST_STALLS];
    do {
        if (call.cuptiPCSamplingGetData(&get) != CUPTI_SUCCESS)
            return 0;
        for (size_t at = 0; at < data->totalNumPcs; at++) {
            CUpti_PCSamplingPCData *pc = &data->pPcData[at];
            uint32_t function = text_id(pc->functionName, strlen(pc->functionName));
            size_t count = 0;
            for (size_t each = 0; each < pc->stallReasonCount && count < MOST_STALLS; each++) {
                CUpti_PCSamplingStallReason *stall = &pc->stallReason[each];
                if (stall->pcSamplingStallReasonIndex < MOST_STALLS)
                    rows[count++] = (struct stall_row){
                        pc->cubinCrc, pc->pcOffset, function,
                        texts[stall->pcSamplingStallReasonIndex], stall->samples,
                        (uint32_t)device};
            }
            put(STALL, sizeof rows[0], rows, count * sizeof rows[0]);
        }
    } while (data->remainingNumPcs > 0);
    return 1;
}

/* Samples what warps wait for, to the end. */
static void sample_stalls(void) {
    CUresult (*retain)(CUcontext *, CUdevice) =
        (CUresult(*)(CUcontext *, CUdevice))driver_function("cuDevicePrimaryCtxRetain");
    CUcontext context = NULL;
    uint32_t texts[MOST_STALLS] = {0};
    if (retain == NULL || retain(&context, (CUdevice)device) != CUDA_SUCCESS)
        return;
    CUpti_PCSamplingData *data = begin_stalls(context, texts);
    end_before_cupti();
    int works = data != NULL;
    for (long pause = STALL_READ_MS; works && !is_ended();) {
        pause_until_ended(pause);
        works = write_stalls(context, data, texts);
        pause = pause * 2 < STALL_PAUSE_MS ? pause * 2 : STALL_PAUSE_MS;
    }
}

static void sample(void) {
    /* While the program makes its context: it takes as long. */
    int prepared = wait_for_driver() && prepare(0);
    int first = wait_for_context();
    if (first < 0)
        return;
    if (first != 0)
        prepared = prepare((size_t)first);
    int works = prepared;
    for (size_t at = 0; works && at < set_count && !is_ended(); at++) {
        works = visit(&sets[at], FIRST_MS, 0);
        /* A kernel can run for half a second and not again: the first set decides most. */
        if (works && at > 0 && at + 1 < set_count && !is_ended())
            works = visit(sets, FIRST_MS, 0);
    }
    /* Kernels can follow one another for seconds. */
    if (works && !is_ended())
        works = visit(sets, LAST_MS, 1);
    if (works && !is_ended())
        sample_stalls();
}

static void *keep_sampling(void *nothing) {
    sample();
    release_launches();
    return nothing;
}

void begin_sampling(void *library) {
    const char *names = getenv("KERNELPROF_SURVEY_SERIES");
    if (names == NULL || *names == '\0' || !take(library) || (wanted = strdup(names)) == NULL)
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
