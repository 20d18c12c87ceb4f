/* From the records of a buffer of CUPTI to rows of the file. */
#ifndef KERNELPROF_SURVEY_ACTIVITY_H
#define KERNELPROF_SURVEY_ACTIVITY_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_CALLS = 2048 /* numbers of calls are below it */ };

#define FUNCTIONS(X)                                                                               \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityGetNextRecord)                                                                  \
    X(cuptiActivityGetNumDroppedRecords)                                                           \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiGetCallbackName)                                                                        \
    X(cuptiSetThreadIdType)
#define NEWER_FUNCTIONS(X)                                                                         \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiActivityEnableRuntimeApi)                                                               \
    X(cuptiActivityEnableDriverApi)

#define MEMBER(name) __typeof__(&name) name;
struct cupti_functions {
    FUNCTIONS(MEMBER)
    NEWER_FUNCTIONS(MEMBER)
};
#undef MEMBER

/* Functions of the CUPTI in this process; of the newer ones those that it has. */
extern struct cupti_functions cupti;

/* Writes all records of a buffer. */
void put_records(uint8_t *buffer, size_t valid);

#endif
