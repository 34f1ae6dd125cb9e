import { afterEach, beforeEach } from "vitest";
import { createFileTimes, fileTimes } from "../base/file-times.ts";

const NFS = 0x6969;

/** Makes every disk look remote to all tests of a file, and not yet known to wobble. */
export function onRemoteDisk(): void {
  const real = { ...fileTimes };
  beforeEach(() => {
    Object.assign(
      fileTimes,
      createFileTimes(() => NFS),
    );
  });
  afterEach(() => {
    Object.assign(fileTimes, real);
  });
}
