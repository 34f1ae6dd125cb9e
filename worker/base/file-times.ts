import { statfsSync } from "node:fs";
import type { FileIdentity } from "./file-identity.ts";

/**
 * When a file was written, as far as its disk can be trusted with that. Disks of other machines (NFS, SMB, FUSE, Gluster, Lustre) may tell
 * another time of a file that nobody touched: out of a cache or not, rounded to 1 s or 2 s, by the clock of another server. This is the one
 * rule ([decision 70](docs/decisions/0070-times-of-remote-disks-may-wobble.md)) for all places that ask whether a file changed.
 */

/** Coarsest unit of a file system, and more than servers of one volume are apart. */
export const MOST_WOBBLE_MS = 2_000;
const MOST_WOBBLE_NS = BigInt(MOST_WOBBLE_MS) * 1_000_000n;
const UNITS_NS = [1_000_000_000n, 2_000_000_000n];

/** File systems of this machine keep a time to the nanosecond: ext, xfs, btrfs, zfs, f2fs, bcachefs, tmpfs, ramfs, overlay. */
const OF_THIS_MACHINE: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010, 0xca451a4e, 0x01021994, 0x858458f6, 0x794c7630,
]);

/** So many times are remembered for comparison. */
const MOST_REMEMBERED = 200_000;

export interface FileTimes {
  /** Whether the file that is meant has the time that it had before. Of two names of one disk that wobbles, each is asked for itself. */
  isSame(now: FileIdentity, before: FileIdentity, path: string): boolean;
  /** Returns the identity with the time that was told of this file before, where the difference says nothing. */
  steady(identity: FileIdentity, path: string): FileIdentity;
  /** Whether the disk is one of another machine, whose clock may be another one too. */
  isRemote(dev: string, path: string): boolean;
  /** Whether the disk of this file was seen to tell different times of what nobody wrote. */
  wobbles(identity: Pick<FileIdentity, "dev">): boolean;
  /** A person says that disks of other machines wobble (`--unsteady-times`). */
  expectWobble(): void;
  /** The difference may be that of a disk which was not seen to wobble yet. */
  mayBeWobble(now: FileIdentity, before: FileIdentity, path: string): boolean;
}

/** `typeOf`: the type of the file system in which a path lies. Throws where it cannot be asked. */
export function createFileTimes(typeOf: (path: string) => number = (path) => statfsSync(path).type): FileTimes {
  const isRemote = new Map<string, boolean>();
  const wobbling = new Set<string>();
  const told = new Map<string, FileIdentity>();
  let isExpected = false;
  const remote = (dev: string, path: string): boolean => {
    let found = isRemote.get(dev);
    if (found === undefined) {
      try {
        // Types are 32 bits wide, and some come with their sign.
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

/** A write gives a file the time that it is: it takes no time back, and cuts none off. */
function isNoWrite(now: bigint, before: bigint): boolean {
  return now < before || UNITS_NS.some((unit) => before % unit === 0n && now - (now % unit) === before);
}

export const fileTimes = createFileTimes();
