/*
 * A training-like load: one thread that computes steps of a fixed size, as a program that feeds a GPU from one core does.
 * It says how long every step took, and stands still at each checkpoint until it is told to go on.
 *
 *   train STEPS SAVE_EVERY WORK
 *
 * After SAVE_EVERY steps: "save STEP" on stdout, then it waits for a line on stdin. At the end: one line per step,
 * "step SECONDS".
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SIDE 96

static float a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec + at.tv_nsec / 1e9;
}

static void multiply(void) {
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) {
      float sum = 0;
      for (int k = 0; k < SIDE; k++) sum += a[i][k] * b[k][j];
      c[i][j] = sum * 0.001f;
    }
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) a[i][j] = c[j][i] + 0.5f;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int steps = atoi(argv[1]), every = atoi(argv[2]), work = atoi(argv[3]);
  double *took = calloc(steps, sizeof *took);
  char line[64];
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) a[i][j] = b[i][j] = (i * 31 + j * 17) % 11 / 11.0f;
  for (int step = 0; step < steps; step++) {
    double start = now();
    for (int i = 0; i < work; i++) multiply();
    took[step] = now() - start;
    if ((step + 1) % every == 0) {
      printf("save %d\n", step + 1);
      fflush(stdout);
      if (fgets(line, sizeof line, stdin) == NULL) return 1;
    }
  }
  for (int step = 0; step < steps; step++) printf("step %.9f\n", took[step]);
  /* So that the compiler keeps the work. */
  fprintf(stderr, "%f\n", c[1][1]);
  return 0;
}
