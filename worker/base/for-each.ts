import { forEachOf } from "#protocol/base/for-each-of.ts";
import { numbered, placesOf, type Rows } from "./rows.ts";

/** Limit of parts that wait in line; the semaphore decides how many of them move. */
export const MOST_LANES = 96;

/**
 * Runs `work` for files side by side: many small ones at a time, because each costs a round trip and few bytes. The large ones
 * run beside them in their order, so that the first is complete early. Otherwise like `forEachOf`; `work` also gets the index
 * in `files`.
 */
export async function forEachFile<T>(
  files: Rows<T>,
  { isSmall, direction }: { isSmall: (file: T) => boolean; direction: "up" | "down" },
  work: (file: T, index: number) => Promise<void>,
): Promise<void> {
  const large = placesOf(files, (file) => !isSmall(file));
  const both = await Promise.allSettled([
    forEachOf(leaveOut(files, large), SMALL_FILES_AT_A_TIME[direction], ([index, file]) => work(file, index)),
    forEachOf(large, LARGE_FILES_AT_A_TIME, async (index) => {
      const file = files.at(index);
      if (file !== undefined) await work(file, index);
    }),
  ]);
  for (const one of both) if (one.status === "rejected") throw one.reason;
}

/** Yields the files with their indexes, except those at `places`, which are in ascending order. */
function* leaveOut<T>(files: Rows<T>, places: readonly number[]): Generator<readonly [index: number, file: T]> {
  let left = 0;
  for (const one of numbered(files)) {
    if (places[left] === one[0]) left++;
    else yield one;
  }
}

/**
 * More than may move, because some are being recorded or put in place meanwhile. For uploads that takes a moment, and memory of
 * each further file lives long enough to make garbage collection costly.
 */
const SMALL_FILES_AT_A_TIME = { up: 128, down: 256 } as const;
/** Enough for files of two or three parts to fill a wide semaphore. */
const LARGE_FILES_AT_A_TIME = 32;
