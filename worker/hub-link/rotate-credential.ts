import { createHash, randomBytes } from "node:crypto";
import type { Hub } from "./hub.ts";
import { storeCredential, type Held, type NodeCredential } from "./node-credential.ts";

/**
 * Replaces this node's credential. The new one is on the disk before the hub hears of it, and the hub is told its hash
 * alone; it is used when the hub has taken it. Killed at any moment, the node holds one that is good: while it does not
 * know whether the hub has taken the new one, it keeps both and tries the other when the first is refused.
 */

const withNext = (held: NodeCredential): NodeCredential & { next: string } => ({
  ...held,
  next: held.next ?? `tmn_${randomBytes(32).toString("base64url")}`,
});

const taken = ({ hub, nodeId, name }: NodeCredential, credential: string): NodeCredential => ({
  hub,
  nodeId,
  name,
  credential,
});

async function hold(state: string, held: Held, credential: NodeCredential): Promise<void> {
  await storeCredential(state, credential);
  held.credential = credential;
}

/** Faults: NO_SPACE, WRITE_FAILED, those of the hub. What was begun is gone on with at the next call. */
export async function rotateCredential(hub: Hub, held: Held, state: string): Promise<void> {
  if (held.credential === null) return;
  const both = withNext(held.credential);
  if (held.credential.next === undefined) await hold(state, held, both);
  const hash = createHash("sha256").update(both.next).digest("hex");
  await hub.ask("rotate", (client, signal) => client.node.rotate.mutate({ hash }, { signal }));
  // While it was asked, the old one may have been refused and the new one be in use already.
  if (held.credential.credential !== both.next) await hold(state, held, taken(both, both.next));
}

/**
 * The credential `used` was refused as unknown: whether there is another to try. One that the hub may have taken without
 * our hearing of it is tried, and kept. Faults: NO_SPACE, WRITE_FAILED.
 */
export async function takeOther(held: Held, used: string | null, state: string): Promise<boolean> {
  const { credential } = held;
  if (credential === null) return false;
  if (credential.credential !== used) return true;
  if (credential.next === undefined) return false;
  await hold(state, held, taken(credential, credential.next));
  return true;
}
