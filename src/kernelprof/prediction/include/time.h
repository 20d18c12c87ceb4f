#pragma once
#define CLOCKS_PER_SEC 1000000L
typedef long long time_t;
