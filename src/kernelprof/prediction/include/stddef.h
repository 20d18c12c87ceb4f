#pragma once
#define offsetof(type, member) __builtin_offsetof(type, member)
