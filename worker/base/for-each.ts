import { forEachOf } from "#protocol/base/for-each-of.ts";
import { numbered, placesOf, type Rows } from "./rows.ts";

/** No more parts than this are in line at a time, whatever the width of the gate: the gate decides how many move. */
export const MOST_LANES = 96;

/**
 * Files side by side: many small ones at a time, because each costs a round trip and next to no bytes, and beside them
 * the large ones in their order, so that the first of them is whole early. Otherwise as `forEachOf`; `work` is told each with
 * its place in `files`.
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

/** With their places, all but those at some places, which are in order. */
function* leaveOut<T>(files: Rows<T>, places: readonly number[]): Generator<readonly [index: number, file: T]> {
  let left = 0;
  for (const one of numbered(files)) {
    if (places[left] === one[0]) left++;
    else yield one;
  }
}

/**
 * More than may move: some of them are being written down or put in place meanwhile. Up that takes a moment, and each file more is
 * memory that lives long enough to be costly garbage.
 */
const SMALL_FILES_AT_A_TIME = { up: 128, down: 256 } as const;
/** Files of two or three parts have to fill a wide gate too. */
const LARGE_FILES_AT_A_TIME = 32;
