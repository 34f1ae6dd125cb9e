import { createHash, randomBytes } from "node:crypto";
import type { Hub } from "./hub.ts";
import { storeCredential, type Held, type NodeCredential } from "./node-credential.ts";

/**
 * Replaces this node's credential. The node stores the new credential on disk, then sends the hub only its hash, and uses
 * the new one once the hub has accepted it. While the outcome is unknown, for example after a kill, the node keeps both
 * credentials and tries the new one when the old one is refused. So it always holds a valid one.
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

/** Rotates the credential; continues an unfinished rotation. @throws Fault NO_SPACE, WRITE_FAILED, and those of the hub */
export async function rotateCredential(hub: Hub, held: Held, state: string): Promise<void> {
  if (held.credential === null) return;
  const both = withNext(held.credential);
  if (held.credential.next === undefined) await hold(state, held, both);
  const hash = createHash("sha256").update(both.next).digest("hex");
  await hub.ask("rotate", (client, signal) => client.node.rotate.mutate({ hash }, { signal }));
  // `takeOther` may have switched to the new credential during the call.
  if (held.credential.credential !== both.next) await hold(state, held, taken(both, both.next));
}

/**
 * Switches to another credential after the hub has refused `used` as unknown; false when there is none. The new one of an
 * unfinished rotation becomes the node's credential. @throws Fault NO_SPACE, WRITE_FAILED
 */
export async function takeOther(held: Held, used: string | null, state: string): Promise<boolean> {
  const { credential } = held;
  if (credential === null) return false;
  if (credential.credential !== used) return true;
  if (credential.next === undefined) return false;
  await hold(state, held, taken(credential, credential.next));
  return true;
}
