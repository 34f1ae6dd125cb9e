import { resolve, sep } from "node:path";
import type { Address } from "#worker/command-line/address.ts";
import { prefixForFolder } from "#worker/command-line/address.ts";
import type { ScratchFile } from "./scratch-file.ts";
import { withStoreSession, type StoreSession } from "#worker/store-session/store-session.ts";
import { readFiles, readObjects, type Side } from "./entries.ts";
import { readFilter } from "./filter.ts";
import { usage, type CommandContext } from "#worker/command-line/command-context.ts";
import { withScratch } from "./with-scratch.ts";

/** Two completely listed folders, each on this machine or in a bucket. */
export interface Sides {
  /** Scratch file for further lists. */
  scratch: ScratchFile;
  from: Side;
  to: Side;
  storeSessions: { from: StoreSession | null; to: StoreSession | null };
}

/**
 * Lists both sides and runs `work` while their store sessions are open. A missing DST counts as empty.
 * @throws Fault BAD_INPUT when both sides are local or one contains the other, NOT_FOUND, those of the listings
 */
export async function withSides(
  context: CommandContext,
  ends: { from: Address; to: Address },
  work: (sides: Sides) => Promise<number>,
): Promise<number> {
  const { from, to } = ends;
  if (from.kind === "local" && to.kind === "local") throw usage("DST", "one side at least is s3://bucket/folder");
  for (const side of [from, to]) {
    if (side.kind === "local" && side.path === "-") throw usage("-", "this takes folders; use cp for stdin and stdout");
  }
  if (overlap(from, to)) throw usage("DST", "one side lies inside the other");
  const within = from.kind === to.kind;
  return withSide(context, { address: from, direction: within ? "within" : "down" }, (a) =>
    withSide(context, { address: to, direction: within ? "within" : "up" }, (b) =>
      withScratch(context, async (scratch) => {
        const filter = readFilter(context.config, Date.now());
        const { signal } = context;
        const list = (address: Address, rest: { storeSession: StoreSession | null; mayLack: boolean }): Promise<Side> =>
          address.kind === "local" || rest.storeSession === null
            ? readFiles(address.kind === "local" ? address.path : "", { filter, scratch, mayLack: rest.mayLack })
            : readObjects(rest.storeSession, { prefix: prefixForFolder(address), filter, scratch, signal });
        return work({
          scratch,
          from: await list(from, { storeSession: a, mayLack: false }),
          to: await list(to, { storeSession: b, mayLack: true }),
          storeSessions: { from: a, to: b },
        });
      }),
    ),
  );
}

function withSide(
  context: CommandContext,
  side: { address: Address; direction: "up" | "down" | "within" },
  work: (storeSession: StoreSession | null) => Promise<number>,
): Promise<number> {
  const { address, direction } = side;
  return address.kind === "local" ? work(null) : withStoreSession(context, { bucket: address.bucket, direction }, work);
}

function overlap(from: Address, to: Address): boolean {
  if (from.kind === "store" && to.kind === "store" && from.bucket === to.bucket) {
    const [a, b] = [prefixForFolder(from), prefixForFolder(to)];
    return a.startsWith(b) || b.startsWith(a);
  }
  if (from.kind !== "local" || to.kind !== "local") return false;
  const [a, b] = [resolve(from.path) + sep, resolve(to.path) + sep];
  return a.startsWith(b) || b.startsWith(a);
}
