#pragma once
#define EOF (-1)
