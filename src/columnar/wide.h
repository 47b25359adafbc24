/*
 * wide.h
 *		Loops for the vectors of the processor that runs them.
 *
 * Every x86-64 has vectors of 16 bytes, without minima of integers among other
 * things; most have AVX2.  A function with WIDE_LOOPS is compiled for both, and
 * which one runs is settled when the library is loaded.  Floating-point results
 * are the same: AVX2 does not bring fused operations.
 */
#ifndef STREAMHOUSE_WIDE_H
#define STREAMHOUSE_WIDE_H

/* The sanitizer is not yet there when the dynamic linker asks which one is to run. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WIDE_LOOPS __attribute__((target_clones("avx2", "default")))
#else
#define WIDE_LOOPS
#endif

#endif							/* STREAMHOUSE_WIDE_H */
