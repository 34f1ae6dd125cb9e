import { statfsSync } from "node:fs";
import type { FileIdentity } from "./file-identity.ts";

/**
 * Decides whether a file was written, as far as its disk reports times reliably. Disks of other machines (NFS, SMB, FUSE,
 * Gluster, Lustre) may report another time for an untouched file: they wobble. The time may come from a cache, be rounded to 1
 * s or 2 s, or be of another server's clock. Every check for a changed file uses this rule:
 * [decision 70](docs/decisions/0070-ignore-small-timestamp-changes-on-remote-disks.md).
 */

/** Coarsest time unit of a file system, and more than the clocks of one volume's servers differ. */
export const MOST_WOBBLE_MS = 2_000;
const MOST_WOBBLE_NS = BigInt(MOST_WOBBLE_MS) * 1_000_000n;
const UNITS_NS = [1_000_000_000n, 2_000_000_000n];

/** Local file systems that keep times to the nanosecond: ext, xfs, btrfs, zfs, f2fs, bcachefs, tmpfs, ramfs, overlay. */
const OF_THIS_MACHINE: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010, 0xca451a4e, 0x01021994, 0x858458f6, 0x794c7630,
]);

/** Limit of files whose reported time is remembered. */
const MOST_REMEMBERED = 200_000;

export interface FileTimes {
  /**
   * Returns whether a file has its earlier time. Compare one name with itself: on a disk that wobbles two names of a file may
   * differ.
   */
  isSame(now: FileIdentity, before: FileIdentity, path: string): boolean;
  /** Returns the identity with the time reported before, when the difference does not prove a write. */
  steady(identity: FileIdentity, path: string): FileIdentity;
  /** Returns whether the disk belongs to another machine, whose clock may differ. */
  isRemote(dev: string, path: string): boolean;
  /** Returns whether the disk of this file has reported different times for a file that nobody wrote. */
  wobbles(identity: Pick<FileIdentity, "dev">): boolean;
  /** Expects every disk of another machine to wobble (`--unsteady-times`). */
  expectWobble(): void;
  /** Returns whether the difference may come from a remote disk that has not been seen to wobble yet. */
  mayBeWobble(now: FileIdentity, before: FileIdentity, path: string): boolean;
}

/** Creates the rule. `typeOf` returns the file system type of a path and throws when it cannot be read. */
export function createFileTimes(typeOf: (path: string) => number = (path) => statfsSync(path).type): FileTimes {
  const isRemote = new Map<string, boolean>();
  const wobbling = new Set<string>();
  const told = new Map<string, FileIdentity>();
  let isExpected = false;
  const remote = (dev: string, path: string): boolean => {
    let found = isRemote.get(dev);
    if (found === undefined) {
      try {
        // Types are 32 bits wide; some arrive as negative numbers.
        found = !OF_THIS_MACHINE.has(typeOf(path) >>> 0);
      } catch {
        return false;
      }
      isRemote.set(dev, found);
      if (found && isExpected) wobbling.add(dev);
    }
    return found;
  };
  const mayBeWobble: FileTimes["mayBeWobble"] = (now, before, path) => {
    const apart = BigInt(now.mtimeNs) - BigInt(before.mtimeNs);
    if (apart > MOST_WOBBLE_NS || apart < -MOST_WOBBLE_NS) return false;
    return now.sizeBytes === before.sizeBytes && now.dev === before.dev && remote(now.dev, path);
  };
  const isSame: FileTimes["isSame"] = (now, before, path) => {
    if (now.mtimeNs === before.mtimeNs) return true;
    if (!mayBeWobble(now, before, path)) return false;
    if (isNoWrite(BigInt(now.mtimeNs), BigInt(before.mtimeNs))) wobbling.add(now.dev);
    return wobbling.has(now.dev);
  };
  return {
    isSame,
    mayBeWobble,
    isRemote: remote,
    wobbles: ({ dev }) => wobbling.has(dev),
    expectWobble: () => {
      isExpected = true;
      for (const [dev, is] of isRemote) if (is) wobbling.add(dev);
    },
    steady: (identity, path) => {
      if (!remote(identity.dev, path)) return identity;
      const before = told.get(path);
      if (before !== undefined && before.ino === identity.ino && isSame(identity, before, path)) {
        return { ...identity, mtimeNs: before.mtimeNs };
      }
      if (before === undefined && told.size >= MOST_REMEMBERED) told.delete(told.keys().next().value ?? path);
      told.set(path, identity);
      return identity;
    },
  };
}

/** Returns whether the times rule out a write. A write sets the present time: it neither goes back nor drops the fraction. */
function isNoWrite(now: bigint, before: bigint): boolean {
  return now < before || UNITS_NS.some((unit) => before % unit === 0n && now - (now % unit) === before);
}

export const fileTimes = createFileTimes();
