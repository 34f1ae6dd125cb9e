import { afterEach, beforeEach } from "vitest";
import { createFileTimes, fileTimes } from "../base/file-times.ts";

const NFS = 0x6969;

/** Lets all tests of a file find their disks to be those of another machine, none of which was seen to wobble yet. */
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
