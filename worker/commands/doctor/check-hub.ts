import * as z from "zod";
import { isFault, toFault } from "#protocol/faults/fault.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { networkFetch } from "#storage/network/fetch.ts";
import { assertWholeToken } from "#worker/hub-link/enrol.ts";
import { connectHub, hubFault, notSaidByHub } from "#worker/hub-link/hub.ts";
import { readCredential } from "#worker/hub-link/node-credential.ts";
import { failed, fine, skipped, type Finding } from "./finding.ts";

/** Questions to a hub that change nothing: no join token is used up, and no running worker is disturbed. */
export interface HubAsked {
  /** As `readHubAddress` returns it. */
  base: string;
  token: string | null;
  /** Folder of this node's credential; null when that folder cannot be used. */
  state: string | null;
}

const LONGEST_MS = 8_000;
/** Answer to a health request; hubs of older releases leave the protocol out. */
const health = z.object({
  ok: z.literal(true),
  version: z.string().max(64),
  protocol: z.int().optional(),
  oldestProtocol: z.int().optional(),
});
type Health = z.infer<typeof health>;

/** Checks that the address belongs to a hub with a compatible protocol, and that the hub knows this node. */
export async function checkHub(asked: HubAsked, signal: AbortSignal): Promise<Finding[]> {
  const { base } = asked;
  try {
    const said = await readHealth(base, signal);
    return [
      fine("hub", `${base} is a Tidemark hub, version ${said.version}`),
      judgeProtocol(base, said),
      await checkNode(asked, signal),
    ];
  } catch (error) {
    return [failed("hub", hubFault(error, { op: "doctor", base }).toData())];
  }
}

async function readHealth(base: string, signal: AbortSignal): Promise<Health> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
  const answer = await networkFetch(`${base}/healthz`, { redirect: "error", signal: limit });
  const parsed = health.safeParse(await answer.json().catch(() => null));
  if (parsed.success) return parsed.data;
  throw notSaidByHub(base, answer.status);
}

/** Judges whether the worker's protocol fits the hub's. Pure. */
export function judgeProtocol(base: string, { version, protocol, oldestProtocol }: Health): Finding {
  if (protocol === undefined || oldestProtocol === undefined) {
    const says = `the hub, version ${version}, does not say which protocol it speaks`;
    return skipped("hub protocol", { says, fix: "Upgrade the hub." });
  }
  const ours = PROTOCOL_VERSION;
  if (ours >= oldestProtocol && ours <= protocol)
    return fine("hub protocol", `it speaks version ${ours}, as this worker`);
  const detail = `the hub takes ${oldestProtocol} to ${protocol}, this worker speaks ${ours}`;
  const fix = ours < oldestProtocol ? "Upgrade the worker." : "Upgrade the hub.";
  return failed("hub protocol", { code: "PROTOCOL_MISMATCH", subject: base, detail }, fix);
}

/** No checkpoint has this id: a hub that knows the node answers NOT_FOUND, any other refuses the node first. */
const NO_CHECKPOINT = "00000000-0000-0000-0000-000000000000";

async function checkNode({ base, token, state }: HubAsked, signal: AbortSignal): Promise<Finding> {
  const check = "node credential";
  const stored = state === null ? null : await readCredential(state).catch(() => null);
  if (stored === null) return withoutCredential(check, token);
  if (stored.hub !== base) {
    const says = `this machine has joined another hub, ${stored.hub}`;
    return skipped(check, { says, fix: "Name that hub, or another state folder: --state DIR." });
  }
  const hub = connectHub(base, { credential: () => stored.credential, signal });
  try {
    await hub.ask("doctor", (client, limit) =>
      client.node.readCheckpoint.query({ checkpointId: NO_CHECKPOINT }, { signal: limit }),
    );
  } catch (error) {
    if (!isFault(error) || error.code !== "NOT_THIS_NODES") return failed(check, toFault(error).toData());
  }
  return fine(check, `the hub knows this node as ${stored.name}`);
}

function withoutCredential(check: string, token: string | null): Finding {
  if (token !== null) {
    try {
      assertWholeToken(token);
    } catch (error) {
      return failed(check, toFault(error).toData());
    }
    return skipped(check, {
      says: "there is a join token; trying it would use it up",
      fix: "Start the worker: tidemark agent",
    });
  }
  const fix = "Create a join token under Add node, and give it to the worker: TIDEMARK_TOKEN.";
  return skipped(check, { says: "this machine has not joined the hub yet", fix });
}
